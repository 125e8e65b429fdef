/* SPDX-License-Identifier: BSD-2-Clause */
/* An expression of ptl-rules(5), evaluated on events during the recording. */
#ifndef RECORD_CAPTURE_EVENT_QUERY_H
#define RECORD_CAPTURE_EVENT_QUERY_H

#include <ptl/event.h>

#include "record/capture/schemas.h"
#include "record/model/fact.h"

struct record_event_query;

/* An event with its description. */
struct record_asked_event {
	const struct ptl_event *event;
	const struct ptl_schema *schema; /* NULL without a schema */
	/* Sets the program of a process; false if unknown. NULL: no event has a known program. */
	bool (*program)(void *context, uint32_t pid, struct record_program_name *name);
	void *context;
	const struct record_schemas *schemas; /* source of the maps with names of values; NULL without maps */
};

/*
 * name: name of the expression in messages. Fails with PTL_MISUSE and a text that shows the place, or with
 * PTL_NO_MEMORY.
 */
int record_event_query_new(const char *name, const char *text, struct record_event_query **query);
/* Accepts NULL. */
void record_event_query_free(struct record_event_query *query);
/* Returns the text that record_event_query_new got. */
const char *record_event_query_text(const struct record_event_query *query);

/*
 * Sets *truth to the expression's value for the event; a missing field makes the value false. Warns at the first event
 * whose evaluation fails. Fails with PTL_NO_MEMORY.
 */
int record_event_query_holds(struct record_event_query *query, const struct record_asked_event *asked_event,
			     bool *truth);

/* Returns a field that no schema has, if the expression was true for no event. Returns NULL otherwise. */
const char *record_event_query_unknown(const struct record_event_query *query, const struct record_schemas *schemas);

#endif
