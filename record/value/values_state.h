/* SPDX-License-Identifier: BSD-2-Clause */
/* State of --values. */
#ifndef RECORD_VALUE_VALUES_STATE_H
#define RECORD_VALUE_VALUES_STATE_H

#include "record/provider/ordered_streams.h"
#include "record/value/cause.h"
#include "record/value/event.h"
#include "record/value/spec.h"
#include "record/value/values.h"

#define VALUE_NOTES_MAX 20u

/* A specification, and what files had of it. */
struct value_wanted {
	struct value_spec spec;
	size_t functions; /* functions found so far */
	bool noted;       /* a message said why values are not read */
};

struct record_values {
	struct record_capture *capture;
	struct channel_values *shared;
	uint32_t plan_count, field_count, step_count; /* the recorder's own copies */
	struct ptl_guid provider;
	struct value_wanted *wanted;
	size_t wanted_count;
	struct value_known_file *files; /* files that were searched */
	size_t file_count, file_capacity;
	struct value_event events[CHANNEL_VALUE_PLANS_MAX]; /* by plan */
	uint16_t next_id;
	struct record_ordered_streams streams;
	struct ptl_bytes payload;
	uint64_t invalid; /* messages that fit no plan */
	unsigned notes;
};

/* Prints a warning about a function's values, up to VALUE_NOTES_MAX. */
void record_values_note(struct record_values *values, const char *function, const char *path, const char *why);

#endif
