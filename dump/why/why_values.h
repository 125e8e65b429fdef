/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts the values of events' fields during the calls: a value that only slow calls have tells why they are slow. */
#ifndef DUMP_WHY_WHY_VALUES_H
#define DUMP_WHY_WHY_VALUES_H

#include "analysis/event/value.h"
#include "common/hash_map.h"
#include "dump/why/why.h"

/* Zero-initialised. */
struct dump_why_value_count {
	struct dump_why *why;
	struct common_byte_map numbers;  /* index in why->values by kind of event, field and text */
	struct common_byte_map distinct; /* number of different values by kind of event and field */
	struct ptl_bytes key, text;
	struct analysis_values values;
	const struct ptl_event *event; /* the event that is counted, its kind and its call */
	uint32_t kind;
	size_t call;
	int status;
};

/* Counts the values of an event in a call. Returns 0 or PTL_NO_MEMORY. */
int dump_why_values_add(struct dump_why_value_count *count, const struct ptl_event *event,
			const struct ptl_schema *schema, size_t kind, size_t call);
/* Orders why->values: the most telling first. Values that do not tell are removed. */
void dump_why_values_finish(struct dump_why_value_count *count);

#endif
