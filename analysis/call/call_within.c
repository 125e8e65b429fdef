/* SPDX-License-Identifier: BSD-2-Clause */
/* An observer that passes on selected calls. */
#include "analysis/call/call_within.h"

#include <stdlib.h>
#include <string.h>

#include "common/vector.h"

struct within {
	const struct analysis_call_set *set;
	const struct analysis_call_observer *observer;
	struct analysis_matches matches;
	uint64_t seen;  /* begins of calls so far, as the set counts */
	size_t *starts; /* by stack: depth of the selected call, plus one; 0: none; owned */
	size_t start_capacity;
	uint32_t stack; /* number of the stack that the observer knows as the current stack */
	/* The thread and its stack, with the selected call as the outermost frame: */
	struct analysis_call_thread thread;
	struct analysis_stack shown;
};

static int start_of(struct within *within, const struct analysis_call_thread *thread, size_t **start)
{
	const size_t before = within->start_capacity, number = thread->stack->number;

	if (COMMON_VECTOR_RESERVE(within->starts, within->start_capacity, number + 1, "stacks of calls"))
		return PTL_NO_MEMORY;
	memset(within->starts + before, 0, (within->start_capacity - before) * sizeof(*within->starts));
	*start = &within->starts[number];
	return 0;
}

/* Prepares within->thread. Reports a change of stacks, if the observer does not know the current stack. */
static int show_thread(struct within *within, const struct analysis_call_thread *thread, size_t start)
{
	const struct analysis_call_observer *observer = within->observer;

	within->shown = *thread->stack;
	within->shown.frames += start - 1;
	within->shown.count -= start - 1;
	within->thread = *thread;
	within->thread.stack = &within->shown;
	if (within->stack == thread->stack->number)
		return 0;
	within->stack = thread->stack->number;
	return observer->change ? observer->change(observer->context, &within->thread) : 0;
}

static int within_begin(void *context, struct analysis_call_thread *thread)
{
	struct within *within = context;
	const struct analysis_call_observer *observer = within->observer;

	if (within->starts)
		memset(within->starts, 0, within->start_capacity * sizeof(*within->starts));
	within->stack = 0;
	return observer->begin ? observer->begin(observer->context, thread) : 0;
}

static int within_end(void *context, struct analysis_call_thread *thread)
{
	const struct analysis_call_observer *observer = ((struct within *)context)->observer;

	return observer->end ? observer->end(observer->context, thread) : 0;
}

static int within_exec(void *context, struct analysis_call_thread *thread)
{
	const struct analysis_call_observer *observer = ((struct within *)context)->observer;

	return observer->exec ? observer->exec(observer->context, thread) : 0;
}

/*
 * A frame began, or its function became known. *inside: a caller is selected. *begun: the frame itself is selected, and
 * its callers are not.
 */
static int look_at(struct within *within, struct analysis_call_thread *thread, struct analysis_frame *frame,
		   bool *inside, bool *begun)
{
	const int begins = analysis_call_set_begins(&within->matches, frame);
	size_t *start;
	int status = begins < 0 ? begins : start_of(within, thread, &start);

	if (status < 0)
		return status;
	within->seen += begins > 0;
	*inside = *start > 0;
	*begun = begins && !*inside && analysis_call_set_find(within->set, within->seen);
	if (*begun)
		*start = analysis_frame_depth(thread, frame) + 1;
	return *inside || *begun ? show_thread(within, thread, *start) : 0;
}

static int within_enter(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct within *within = context;
	bool inside, begun;
	const int status = look_at(within, thread, frame, &inside, &begun);

	if (status < 0 || (!inside && !begun))
		return status;
	return within->observer->enter(within->observer->context, &within->thread, frame);
}

static int within_rename(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct within *within = context;
	const struct analysis_call_observer *observer = within->observer;
	bool inside, begun;
	const int status = look_at(within, thread, frame, &inside, &begun);

	if (status < 0 || (!inside && !begun))
		return status;
	if (begun)
		return observer->enter(observer->context, &within->thread, frame);
	return observer->rename ? observer->rename(observer->context, &within->thread, frame) : 0;
}

static int within_leaf(void *context, struct analysis_call_thread *thread, struct analysis_frame *caller,
		       const struct analysis_transfer *leaf)
{
	struct within *within = context;
	const struct analysis_call_observer *observer = within->observer;
	const int matching = analysis_matches(&within->matches, leaf->function);
	size_t *start;
	int status = start_of(within, thread, &start);

	if (matching || status < 0)
		return matching < 0 ? matching : status;
	if (!*start)
		return 1;
	status = show_thread(within, thread, *start);
	if (status < 0 || !observer->leaf)
		return status;
	return observer->leaf(observer->context, &within->thread, caller, leaf);
}

static int within_leave(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct within *within = context;
	size_t *start;
	int status = start_of(within, thread, &start);

	if (status < 0 || !*start)
		return status;
	status = show_thread(within, thread, *start);
	if (status == 0)
		status = within->observer->leave(within->observer->context, &within->thread, frame);
	if (*start == analysis_frame_depth(thread, frame) + 1)
		*start = 0;
	return status;
}

static int within_gap(void *context, struct analysis_call_thread *thread)
{
	struct within *within = context;
	const struct analysis_call_observer *observer = within->observer;
	size_t *start;
	int status;

	if (!thread->stack || !observer->gap)
		return 0;
	status = start_of(within, thread, &start);
	if (status < 0 || !*start)
		return status;
	status = show_thread(within, thread, *start);
	return status < 0 ? status : observer->gap(observer->context, &within->thread);
}

int analysis_calls_within(const struct analysis_calls *calls, const struct analysis_call_set *set,
			  const struct analysis_call_observer *observer)
{
	struct within within = {
		.set = set,
		.observer = observer,
		.matches = {.calls = calls, .pattern = set->matches.pattern},
	};
	const struct analysis_call_observer limited = {
		.context = &within,
		.begin = within_begin,
		.end = within_end,
		.enter = within_enter,
		.rename = within_rename,
		.leaf = within_leaf,
		.leave = within_leave,
		.exec = within_exec,
		.gap = within_gap,
	};
	const int status = analysis_calls_walk(calls, &limited);

	free(within.starts);
	analysis_matches_free(&within.matches);
	return status;
}
