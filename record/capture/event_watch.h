/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks for events that match expressions, while they go into the trace: those of providers, and of tracepoints. */
#ifndef RECORD_CAPTURE_EVENT_WATCH_H
#define RECORD_CAPTURE_EVENT_WATCH_H

#include "common/text/string_list.h"
#include "record/capture/event_query.h"

struct record_event_watch;

/*
 * An event matches if any of the texts holds for it: expressions of ptl-rules(5). option: what messages call them. PTL_MISUSE with
 * a text that shows the place; PTL_NO_MEMORY.
 */
int record_event_watch_new(const char *option, const struct common_string_list *texts,
			   struct record_event_watch **watch);
/* NULL is none. */
void record_event_watch_free(struct record_event_watch *watch);

/* Looks at an event. What its schema does not have, or does not fit, does not hold. PTL_NO_MEMORY. */
int record_event_watch_event(struct record_event_watch *watch, const struct record_asked_event *asked);

/* The last event that matched, once: "Request/Failed of process 17"; NULL: there was none since. */
const char *record_event_watch_take(struct record_event_watch *watch);

#endif
