/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies the stack of each thread before its frames end. */
#include "dump/crash/final_stack.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "dump/crash/runtime_name.h"

static int frames_copy(struct dump_crash_frames *frames, const struct analysis_stack *stack)
{
	const size_t most = DUMP_CRASH_INNER_FRAMES + DUMP_CRASH_OUTER_FRAMES, depth = stack->count;
	const size_t outer = depth > most ? DUMP_CRASH_OUTER_FRAMES : 0;
	const size_t count = outer ? most : depth;

	if (!frames->list)
		frames->list = malloc(most * sizeof(*frames->list));
	if (!frames->list)
		return common_fail_memory("a stack", most * sizeof(*frames->list));
	memcpy(frames->list, stack->frames, outer * sizeof(*frames->list));
	memcpy(frames->list + outer, stack->frames + depth - (count - outer), (count - outer) * sizeof(*frames->list));
	frames->count = count;
	frames->outer = outer;
	frames->depth = depth;
	return 0;
}

static int finals_begin(void *context, struct analysis_call_thread *thread)
{
	struct dump_crash_finals *finals = context;

	finals->current = (struct dump_crash_final){.pid = thread->pid, .tid = thread->tid, .thread = thread->thread};
	finals->copied = false;
	finals->raising = 0;
	return 0;
}

/* Whether the function raises: 1 or 0, or PTL_NO_MEMORY. */
static int finals_raises(struct dump_crash_finals *finals, uint32_t function)
{
	const size_t before = finals->known_capacity;
	int status;

	if (function == ANALYSIS_NO_FUNCTION)
		return 0;
	status = COMMON_VECTOR_RESERVE(finals->known, finals->known_capacity, (size_t)function + 1, "functions");
	if (status < 0)
		return status;
	if (finals->known_capacity > before)
		memset(finals->known + before, 0, finals->known_capacity - before);
	if (!finals->known[function])
		finals->known[function] = dump_crash_raises(analysis_function(finals->functions, function)) ? 2 : 1;
	return finals->known[function] == 2;
}

/* Whether the function that raised last is on the stack: functions that raise call each other. */
static bool is_raising(const struct dump_crash_finals *finals, const struct analysis_stack *stack)
{
	return finals->raising && finals->raising_depth + 1 < stack->count &&
	       stack->frames[finals->raising_depth].serial == finals->raising;
}

static int finals_enter(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct dump_crash_finals *finals = context;
	const int raises = finals_raises(finals, frame->function);

	finals->copied = false;
	if (raises <= 0 || is_raising(finals, thread->stack))
		return raises < 0 ? raises : 0;
	finals->raising = frame->serial;
	finals->raising_depth = analysis_frame_depth(thread, frame);
	finals->current.raised_time = thread->time;
	return frames_copy(&finals->current.raised, thread->stack);
}

static int finals_leave(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct dump_crash_finals *finals = context;

	if (!(frame->flags & ANALYSIS_CALL_UNFINISHED) || finals->copied)
		return 0;
	/* Frames end in order, innermost first. The current stack ends before all other stacks. */
	finals->copied = true;
	finals->current.instructions = thread->stack->instructions;
	return frames_copy(&finals->current.end, thread->stack);
}

/* A process runs another program: the failures of the last program are over. */
static int finals_exec(void *context, struct analysis_call_thread *thread)
{
	struct dump_crash_finals *finals = context;

	(void)thread;
	finals->current.raised.count = 0;
	return 0;
}

static void final_free(struct dump_crash_final *final)
{
	free(final->end.list);
	free(final->raised.list);
	*final = (struct dump_crash_final){0};
}

static int finals_end(void *context, struct analysis_call_thread *thread)
{
	struct dump_crash_finals *finals = context;

	(void)thread;
	if (!finals->copied)
		finals->current.end.count = 0;
	if (!common_vector_room(&finals->list, finals->count, sizeof(*finals->list)))
		return common_fail_memory("threads", finals->count);
	finals->list[finals->count++] = finals->current;
	finals->current = (struct dump_crash_final){0};
	return 0;
}

static int finals_gap(void *context, struct analysis_call_thread *thread)
{
	(void)thread;
	((struct dump_crash_finals *)context)->gaps++;
	return 0;
}

const struct analysis_call_observer dump_crash_finals_observer = {
	.begin = finals_begin,
	.end = finals_end,
	.enter = finals_enter,
	.rename = finals_enter,
	.leave = finals_leave,
	.exec = finals_exec,
	.gap = finals_gap,
};

void dump_crash_finals_free(struct dump_crash_finals *finals)
{
	final_free(&finals->current);
	for (size_t i = 0; i < finals->count; i++)
		final_free(&finals->list[i]);
	free(finals->list);
	free(finals->known);
	*finals = (struct dump_crash_finals){0};
}

const struct dump_crash_final *dump_crash_final_find(const struct dump_crash_finals *finals, uint32_t pid, uint32_t tid)
{
	for (size_t i = finals->count; i-- > 0;)
		if (finals->list[i].pid == pid && finals->list[i].tid == tid)
			return &finals->list[i];
	return NULL;
}
