/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters of the events of a capture. */
#ifndef RECORD_CAPTURE_CAPTURE_FILTER_H
#define RECORD_CAPTURE_CAPTURE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/event.h>

#include "common/text/string_list.h"
#include "record/capture/filter.h"
#include "record/capture/schemas.h"

struct record_capture;

struct record_capture_filter {
	struct record_schemas schemas;
	struct record_filter current;
	struct record_filter before; /* filter for events before `since` */
	uint64_t since;
	uint64_t left_out; /* number of events that the filters rejected */
};

/* Origin of an event, as far as the source knows. */
struct record_origin {
	const char *program;  /* program of the process; NULL: as the capture knows */
	const char *provider; /* name of the provider; NULL: as the schema says */
	bool kernel;          /* kernel event without a provider */
};

/* Changes the terms of --only for future events: all of the terms, or none after an error. As record_filter_set. */
int record_capture_only(struct record_capture *capture, const struct common_string_list *terms);
/* wanted: set to whether --only records the event. Counts rejected events. */
int record_capture_wants(struct record_capture *capture, const struct record_origin *origin,
			 const struct ptl_event *event, bool *wanted);
/* Returns the event with its schema and program, valid until the next change. */
struct record_asked_event record_capture_asked(struct record_capture *capture, const struct ptl_event *event);
void record_capture_filter_free(struct record_capture_filter *filter);

#endif
