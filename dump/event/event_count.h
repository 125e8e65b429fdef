/* SPDX-License-Identifier: BSD-2-Clause */
/* How many events of each kind there are: a row for each provider, id, version and opcode. */
#ifndef DUMP_EVENT_EVENT_COUNT_H
#define DUMP_EVENT_EVENT_COUNT_H

#include <ptl/reader.h>

#include "common/hash_map.h"
#include "dump/session/command.h"
#include "dump/print/event_names.h"

struct dump_event_kind {
	struct ptl_descriptor descriptor; /* of the first one; level and keyword may differ among them */
	const struct ptl_schema *schema;  /* or NULL */
	uint64_t count;
	uint64_t bytes; /* of payloads */
};

/* Zero-initialised is empty. */
struct dump_event_count {
	struct common_byte_map kinds; /* identity: index in list */
	struct dump_event_kind *list;
	size_t used, capacity;
	size_t last; /* of the kind found last */
};

/* PTL_NO_MEMORY. */
int dump_event_count_add(struct dump_event_count *count, const struct ptl_event *event,
			 const struct ptl_schema *schema);
/*
 * Sorted by provider, id, opcode and version; as text with a sum at the end. span: nanoseconds that rates are of; 0: there are
 * none. PTL_NO_MEMORY.
 */
int dump_event_count_print(struct dump_event_count *count, struct dump_session *session, const struct dump_names *names,
			   uint64_t span);
void dump_event_count_free(struct dump_event_count *count);

#endif
