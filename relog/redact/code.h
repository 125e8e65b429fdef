/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Redacts code. Bytes that may be instructions stay unchanged, so the flow of the trace stays the same. Only data is
 * changed, as declared by the sections of an ELF file in the trace.
 */
#ifndef RELOG_REDACT_CODE_H
#define RELOG_REDACT_CODE_H

#include <ptl/event.h>
#include <ptl/reader.h>

#include "common/memory_budget.h"
#include "common/hash_map.h"
#include "relog/redact/text.h"

struct relog_code_origin;

/* Maps the hash of code to the code's file and offset. Zero-initialised: no origins. */
struct relog_code_origins {
	struct common_byte_map map;
	struct relog_code_origin *list;
	size_t count;
	struct common_memory_budget memory_budget;
	struct ptl_bytes storage;
};

void relog_code_origins_free(struct relog_code_origins *origins);
/* Learns the origin from an image event whose file is in the trace. Ignores other events. Returns PTL_NO_MEMORY. */
int relog_code_origins_learn(struct relog_code_origins *origins, struct ptl_trace *trace,
			     const struct ptl_event *event);
/*
 * Redacts the code with this hash in place.
 * *changed becomes true if bytes were changed.
 * *left becomes true if text to redact stands among bytes that may be instructions.
 * limit: maximum bytes of the file; the data of a larger file is unknown.
 * Returns PTL_NO_MEMORY, PTL_SYSTEM.
 */
int relog_redact_code(struct relog_redactor *redactor, const struct relog_code_origins *origins,
		      const uint8_t hash[PTL_HASH_SIZE], uint8_t *code, size_t size, size_t limit, bool *changed,
		      bool *left);

#endif
