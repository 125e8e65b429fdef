/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Redacts code. Bytes that may be instructions stay as they are: the flow of a redacted trace is that of the trace. Only
 * what the sections of an ELF file in the trace say is data is changed.
 */
#ifndef RELOG_REDACT_CODE_H
#define RELOG_REDACT_CODE_H

#include <ptl/event.h>
#include <ptl/reader.h>

#include "common/memory_budget.h"
#include "common/hash_map.h"
#include "relog/redact/text.h"

struct relog_code_origin;

/* Which file code comes from, and from where in it, by the hash of the code. Zero-initialised knows of none. */
struct relog_code_origins {
	struct common_byte_map map;
	struct relog_code_origin *list;
	size_t count;
	struct common_memory_budget memory_budget;
	struct ptl_bytes storage;
};

void relog_code_origins_free(struct relog_code_origins *origins);
/* Learns from an event of the trace, if it is one of an image whose file is in the trace as well. PTL_NO_MEMORY. */
int relog_code_origins_learn(struct relog_code_origins *origins, struct ptl_trace *trace,
			     const struct ptl_event *event);
/*
 * Redacts the code of this hash in place. *changed becomes true if its bytes change, *left if something that was to go
 * stands among what may be instructions. At most limit bytes are read of its file; of a larger one nothing is known.
 * PTL_NO_MEMORY, PTL_SYSTEM.
 */
int relog_redact_code(struct relog_redactor *redactor, const struct relog_code_origins *origins,
		      const uint8_t hash[PTL_HASH_SIZE], uint8_t *code, size_t size, size_t limit, bool *changed,
		      bool *left);

#endif
