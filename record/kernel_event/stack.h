/* SPDX-License-Identifier: BSD-2-Clause */
/* The call stack of a sample, as an extended item of the event. */
#ifndef RECORD_KERNEL_EVENT_STACK_H
#define RECORD_KERNEL_EVENT_STACK_H

#include "record/kernel_event/event.h"
#include "record/kernel_event/unwind.h"

/* Zero-initialised is ready. */
struct kernel_event_stacks {
	struct kernel_event_unwinder unwinder;
	struct ptl_bytes chain; /* unwound chain of the current sample */
};

/*
 * Appends the stack to storage, sets item, and adds item to the event. A payload in storage is moved along.
 * PTL_NO_MEMORY.
 */
int kernel_event_stack_put(struct kernel_event_stacks *stacks, const struct kernel_event_sample *sample,
			   struct ptl_bytes *storage, struct ptl_extended *item, struct ptl_event *event);
void kernel_event_stacks_free(struct kernel_event_stacks *stacks);

#endif
