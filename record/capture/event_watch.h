/* SPDX-License-Identifier: BSD-2-Clause */
/* Searches the recorded events of providers and tracepoints for matches with expressions. */
#ifndef RECORD_CAPTURE_EVENT_WATCH_H
#define RECORD_CAPTURE_EVENT_WATCH_H

#include "common/text/string_list.h"
#include "record/capture/event_query.h"

struct record_event_watch;

/*
 * Makes a watch. An event matches if any of the texts, expressions of ptl-rules(5), is true.
 * option: name of the expressions in messages.
 * Fails with PTL_MISUSE and a text that shows the place, or with PTL_NO_MEMORY.
 */
int record_event_watch_new(const char *option, const struct common_string_list *texts,
			   struct record_event_watch **watch);
/* Accepts NULL. */
void record_event_watch_free(struct record_event_watch *watch);

/*
 * Evaluates the expressions on an event. A field that the schema lacks makes a comparison false. Fails with
 * PTL_NO_MEMORY.
 */
int record_event_watch_event(struct record_event_watch *watch, const struct record_asked_event *asked_event);

/* Returns the last match since the previous call, as "Request/Failed of process 17"; NULL without a match. */
const char *record_event_watch_take(struct record_event_watch *watch);

#endif
