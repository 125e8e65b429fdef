/* SPDX-License-Identifier: BSD-2-Clause */
/* A failure as a sentence. */
#include <inttypes.h>
#include <string.h>

#include "common/plural.h"
#include "common/text/text.h"
#include "dump/crash/crash.h"
#include "dump/crash/runtime_name.h"
#include "dump/print/status.h"
#include "query/name_form.h"

#define CALLERS 3 /* callers in a sentence */
#define THREADS 3 /* threads in a sentence */

const struct dump_crash_stack *dump_crash_stack(const struct dump_crash *crash)
{
	if (crash->thread == DUMP_CRASH_NO_INDEX)
		return NULL;
	return crash->way == DUMP_CRASH_WAY_PANIC ? &crash->raised : &crash->threads[crash->thread].stack;
}

const struct dump_crash_frame *dump_crash_place(const struct dump_crash *crash)
{
	const struct dump_crash_stack *stack = dump_crash_stack(crash);

	if (crash->way == DUMP_CRASH_WAY_RETURN)
		return &crash->last;
	if (!stack || !stack->count)
		return NULL;
	return &stack->frames[stack->place == DUMP_CRASH_NO_INDEX ? 0 : stack->place];
}

void dump_crash_short_name(const char *name, struct ptl_bytes *text)
{
	struct ptl_bytes short_name = {0};

	query_short_name(name, &short_name);
	text->failed |= short_name.failed;
	common_text_safe_n(text, short_name.data, short_name.size);
	common_bytes_free(&short_name);
}

/* Appends "rebate, orders.cpp:52"; without a source line "strlen (libc.so.6)". */
static void frame_text(const struct dump_crash_frame *frame, struct ptl_bytes *text)
{
	if (*frame->function)
		dump_crash_short_name(frame->function, text);
	else
		common_text_add(text, *frame->image || frame->file ? "a function without a name" : "unknown code");
	if (frame->file && !frame->runtime) {
		common_text_add(text, ", ");
		common_text_safe(text, common_base_name(frame->file));
		common_text_format(text, ":%" PRIu32, frame->line);
	} else if (*frame->image) {
		common_text_add(text, " (");
		common_text_safe(text, frame->image);
		common_text_add(text, ")");
	}
}

/*
 * Appends ", called from total, orders.cpp:70, called from ..." for the callers of frame `at`. Of calls of a function by
 * itself, the first one counts.
 */
static void callers_text(const struct dump_crash_stack *stack, size_t at, size_t most, struct ptl_bytes *text)
{
	const char *last = stack->frames[at].function;

	for (size_t i = at + 1; i < stack->count && most > 0; i++) {
		if (stack->frames[i].runtime || !*stack->frames[i].function || !strcmp(stack->frames[i].function, last))
			continue;
		last = stack->frames[i].function;
		common_text_add(text, ", called from ");
		frame_text(&stack->frames[i], text);
		most--;
	}
}

/* Appends the call that the frame made: " (a failed assertion)", " in a call of strlen". */
static void call_text(const struct dump_crash_stack *stack, struct ptl_bytes *text)
{
	const struct dump_crash_frame *callee = &stack->frames[stack->place - 1];

	if (stack->reason) {
		common_text_format(text, " (%s)", stack->reason);
	} else if (*callee->function) {
		common_text_add(text, " (in a call of ");
		dump_crash_short_name(callee->function, text);
		common_text_add(text, ")");
	}
}

static void stack_text(const struct dump_crash_stack *stack, struct ptl_bytes *text)
{
	const size_t place = stack->place == DUMP_CRASH_NO_INDEX ? 0 : stack->place;

	if (!stack->count)
		return;
	common_text_add(text, " in ");
	frame_text(&stack->frames[place], text);
	if (place)
		call_text(stack, text);
	callers_text(stack, place, CALLERS, text);
	if (stack->missing) {
		common_text_add(text, "; the stack has ");
		common_text_count(text, stack->count + stack->missing);
		common_text_add(text, " frames");
	}
}

static void thread_name(const struct dump_crash_thread *thread, struct ptl_bytes *text)
{
	common_text_format(text, "thread %" PRIu32, thread->tid);
	if (*thread->name) {
		common_text_add(text, " (");
		common_text_safe(text, thread->name);
		common_text_add(text, ")");
	}
}

bool dump_crash_waits_for_lock(const struct dump_crash_thread *thread)
{
	for (size_t i = 0; i < thread->stack.count && thread->stack.frames[i].runtime; i++)
		if (dump_crash_is_lock(thread->stack.frames[i].function))
			return true;
	return false;
}

void dump_crash_thread_sentence(const struct dump_crash_thread *thread, struct ptl_bytes *text)
{
	const struct dump_crash_stack *stack = &thread->stack;
	size_t outer = 0;

	thread_name(thread, text);
	if (!stack->count) {
		common_text_add(text, " is at an unknown place");
		return;
	}
	/* The function that the program's own code called says more than the code within. */
	if (stack->place != DUMP_CRASH_NO_INDEX && stack->place > 0) {
		outer = stack->place - 1;
		while (outer > 0 && !*stack->frames[outer].function)
			outer--;
	}
	common_text_add(text, " is in ");
	frame_text(&stack->frames[outer], text);
	callers_text(stack, outer, CALLERS, text);
}

/* Appends the places of threads. Threads that wait for locks come first. */
static void threads_text(const struct dump_crash *crash, struct ptl_bytes *text)
{
	size_t shown = 0;

	for (int locked = 1; locked >= 0; locked--)
		for (size_t i = 0; i < crash->thread_count; i++) {
			if (dump_crash_waits_for_lock(&crash->threads[i]) != locked || shown++ >= THREADS)
				continue;
			common_text_add(text, "; ");
			dump_crash_thread_sentence(&crash->threads[i], text);
		}
	if (shown > THREADS)
		common_text_format(text, "; and %zu more " COMMON_PLURAL("thread", "threads"), shown - THREADS);
}

void dump_crash_sentence(const struct dump_crash_report *report, const struct dump_crash *crash, struct ptl_bytes *text)
{
	const struct dump_crash_stack *stack = dump_crash_stack(crash);
	const bool all = crash->failure.kind == DUMP_FAILURE_NONE || crash->failure.sent;

	if (stack && !all && !crash->failure.fatal) {
		thread_name(&crash->threads[crash->thread], text);
		common_text_add(text, " of ");
	}
	dump_failure_sentence(&crash->failure, report->timeline, text);
	if (all) {
		threads_text(crash, text);
		return;
	}
	if (crash->way == DUMP_CRASH_WAY_RETURN) {
		common_text_add(text, ": main returned");
		if (crash->last.file) {
			common_text_add(text, ", ");
			common_text_safe(text, common_base_name(crash->last.file));
			common_text_format(text, ":%" PRIu32, crash->last.line);
		}
	} else if (stack) {
		stack_text(stack, text);
	} else if (crash->thread_count && !crash->failure.fatal) {
		common_text_add(text, "; the thread is unknown");
	} else {
		common_text_add(text, "; the trace has no code that ran there");
	}
}
