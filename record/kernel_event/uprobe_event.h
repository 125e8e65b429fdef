/* SPDX-License-Identifier: BSD-2-Clause */
/* Uprobes with arguments: events created in tracefs for the duration of a recording. */
#ifndef RECORD_KERNEL_EVENT_UPROBE_EVENT_H
#define RECORD_KERNEL_EVENT_UPROBE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "record/kernel_event/event.h"

/* A place of a probe. */
struct kernel_event_place {
	const char *path;
	uint64_t offset;    /* in the file */
	uint64_t reference; /* offset of the probe's semaphore, a word the kernel increments while recording; 0: none */
	bool returns;
	const char *arguments; /* " arg1=%di:s32 ..." */
};

/*
 * Creates an event of this name in tracefs with one place, and stores the tracefs name in event->made.
 * kernel_event_uprobe_event_remove removes the event. PTL_SYSTEM, PTL_MISUSE.
 */
int kernel_event_uprobe_event_make(struct kernel_event *event, const char *name,
				   const struct kernel_event_place *place);
/* Adds a place to the event. PTL_SYSTEM: the kernel refuses, for example if an argument has another type there. */
int kernel_event_uprobe_event_extend(const struct kernel_event *event, const struct kernel_event_place *place);
/* Reads the format of the event, and adds the format under the name `system`. */
int kernel_event_uprobe_event_read(struct kernel_event *event, const char *system, struct perf_tracing *tracing);
/* Removes the event from tracefs. The caller has closed all its descriptors. */
void kernel_event_uprobe_event_remove(struct kernel_event *event);

/* Removes probes of recorders that were killed, and prints a note. Probes in use stay. */
void kernel_event_uprobe_event_clean(void);

#endif
