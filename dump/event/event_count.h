/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of events by provider, id, version and opcode. */
#ifndef DUMP_EVENT_EVENT_COUNT_H
#define DUMP_EVENT_EVENT_COUNT_H

#include <ptl/reader.h>

#include "common/hash_map.h"
#include "dump/session/command.h"
#include "dump/print/event_names.h"

struct dump_event_kind {
	struct ptl_descriptor descriptor; /* of the kind's first event; level and keyword may differ in later events */
	const struct ptl_schema *schema;  /* or NULL */
	uint64_t count;
	uint64_t bytes; /* bytes of all payloads */
};

/* Zero-initialised counts are empty. */
struct dump_event_count {
	struct common_byte_map kinds; /* index in `list` by identity */
	struct dump_event_kind *list;
	size_t used, capacity;
	size_t last; /* index of the last kind found */
};

/* Returns 0 or PTL_NO_MEMORY. */
int dump_event_count_add(struct dump_event_count *count, const struct ptl_event *event,
			 const struct ptl_schema *schema);
/*
 * Prints the counts sorted by provider, id, opcode and version; text ends with a sum. span: nanoseconds for rates; 0:
 * no rates. Returns 0 or PTL_NO_MEMORY.
 */
int dump_event_count_print(struct dump_event_count *count, struct dump_session *session, const struct dump_names *names,
			   uint64_t span);
void dump_event_count_free(struct dump_event_count *count);

#endif
