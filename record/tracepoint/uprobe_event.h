/* SPDX-License-Identifier: BSD-2-Clause */
/* Uprobes with arguments: events that are made in tracefs, for as long as they are recorded. */
#ifndef RECORD_TRACEPOINT_UPROBE_EVENT_H
#define RECORD_TRACEPOINT_UPROBE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "record/tracepoint/event.h"

/* A place where it is hit. */
struct tracepoint_place {
	const char *path;
	uint64_t offset;    /* in the file */
	uint64_t reference; /* offset of a word that is counted up while it is recorded; 0: none */
	bool returns;
	const char *arguments; /* " arg1=%di:s32 ..." */
};

/*
 * Makes an event of this name, which is hit at the place, and sets what event is; its made is the name in tracefs, and
 * tracepoint_uprobe_event_remove removes it. PTL_SYSTEM, PTL_MISUSE.
 */
int tracepoint_uprobe_event_make(struct tracepoint_event *event, const char *name,
				 const struct tracepoint_place *place);
/* The same event is hit at one more place. PTL_SYSTEM: the kernel refuses, since arguments have other types for one. */
int tracepoint_uprobe_event_extend(const struct tracepoint_event *event, const struct tracepoint_place *place);
/* Reads its format, under the name of this system. */
int tracepoint_uprobe_event_read(struct tracepoint_event *event, const char *system, struct perf_tracing *tracing);
/* When nobody has it open any more. */
void tracepoint_uprobe_event_remove(struct tracepoint_event *event);

/* Removes what recorders left that were killed, and says so; what is in use stays. */
void tracepoint_uprobe_event_clean(void);

#endif
