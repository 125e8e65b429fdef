/* SPDX-License-Identifier: BSD-2-Clause */
/* An expression of ptl-rules(5), held against events while they are recorded. */
#ifndef RECORD_CAPTURE_EVENT_QUERY_H
#define RECORD_CAPTURE_EVENT_QUERY_H

#include <ptl/event.h>

#include "record/capture/schemas.h"
#include "record/model/fact.h"

struct record_event_query;

/* An event, and what is known of it. */
struct record_asked_event {
	const struct ptl_event *event;
	const struct ptl_schema *schema; /* NULL: nothing explains it */
	/* What its process runs; false: that is not known. NULL: of no event. */
	bool (*program)(void *context, uint32_t pid, struct record_program_name *name);
	void *context;
	const struct record_schemas *schemas; /* they have the names of values; NULL: there are none */
};

/* name: what messages call the expression. PTL_MISUSE with a text that shows the place; PTL_NO_MEMORY. */
int record_event_query_new(const char *name, const char *text, struct record_event_query **query);
/* NULL is none. */
void record_event_query_free(struct record_event_query *query);
/* As it was given. */
const char *record_event_query_text(const struct record_event_query *query);

/*
 * Whether it holds for the event: not where a field is missing. Of the first event that it cannot be computed for, a warning says
 * why. PTL_NO_MEMORY.
 */
int record_event_query_holds(struct record_event_query *query, const struct record_asked_event *asked, bool *truth);

/* A field that none of the schemas has, while the expression has held for no event; NULL: there is none such. */
const char *record_event_query_unknown(const struct record_event_query *query, const struct record_schemas *schemas);

#endif
