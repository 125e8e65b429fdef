/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of events by provider, id, version and opcode. */
#ifndef ANALYSIS_EVENT_EVENT_COUNT_H
#define ANALYSIS_EVENT_EVENT_COUNT_H

#include <ptl/reader.h>

#include "common/hash_map.h"

struct analysis_event_kind {
	struct ptl_descriptor descriptor; /* of the kind's first event; level and keyword may differ in later events */
	const struct ptl_schema *schema;  /* or NULL */
	uint64_t count;
	uint64_t bytes; /* bytes of all payloads */
};

/* Zero-initialised counts are empty. */
struct analysis_event_count {
	struct common_byte_map kinds; /* index in `list` by identity */
	struct analysis_event_kind *list;
	size_t used, capacity;
	size_t last; /* index of the last kind found */
};

/* Returns 0 or PTL_NO_MEMORY. */
int analysis_event_count_add(struct analysis_event_count *count, const struct ptl_event *event,
			     const struct ptl_schema *schema);
/* Sorts the list by provider, id, opcode and version. Nothing can be added later. */
void analysis_event_count_sort(struct analysis_event_count *count);
void analysis_event_count_free(struct analysis_event_count *count);

#endif
