/* SPDX-License-Identifier: BSD-2-Clause */
/* The call stack of a sample, as an extended item of the event. */
#ifndef RECORD_TRACEPOINT_STACK_H
#define RECORD_TRACEPOINT_STACK_H

#include "record/tracepoint/event.h"
#include "record/tracepoint/unwind.h"

/* Zero-initialised is ready. */
struct tracepoint_stacks {
	struct tracepoint_unwinder unwinder;
	struct ptl_bytes chain; /* unwound chain of the current sample */
};

/*
 * Appends the stack to storage, sets item, and adds item to the event. A payload in storage is moved along.
 * PTL_NO_MEMORY.
 */
int tracepoint_stack_put(struct tracepoint_stacks *stacks, const struct tracepoint_sample *sample,
			 struct ptl_bytes *storage, struct ptl_extended *item, struct ptl_event *event);
void tracepoint_stacks_free(struct tracepoint_stacks *stacks);

#endif
