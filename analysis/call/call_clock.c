/* SPDX-License-Identifier: BSD-2-Clause */
/* Clocks of a thread and of its stacks. */
#include "analysis/call/call_clock.h"

#include "analysis/call/call_stack.h"

static void add_absence(struct analysis_call_thread *thread, uint64_t nanoseconds)
{
	if (thread->state == ANALYSIS_THREAD_IN_KERNEL)
		thread->absence.kernel += nanoseconds;
	else if (thread->state == ANALYSIS_THREAD_IN_GAP)
		thread->absence.gap += nanoseconds;
}

/* Lets time pass on the stack, with or without frames. */
static void pass_time(struct analysis_stack *stack, uint64_t nanoseconds)
{
	if (!stack)
		return;
	stack->time += nanoseconds;
	if (!stack->count)
		stack->idle_time += nanoseconds;
}

void analysis_calls_pass(struct analysis_call_thread *thread, uint64_t instructions, uint64_t time)
{
	thread->instructions += instructions;
	if (thread->stack) {
		thread->stack->instructions += instructions;
		if (!thread->stack->count)
			thread->stack->idle_instructions += instructions;
	}
	if (time <= thread->time)
		return;
	if (thread->time) {
		const uint64_t passed = time - thread->time;

		pass_time(thread->stack, passed);
		if (thread->state != ANALYSIS_THREAD_RUNNING)
			add_absence(thread, passed);
	}
	thread->time = time;
}

void analysis_calls_off(struct analysis_call_thread *thread, uint64_t time)
{
	if (time <= thread->time)
		return;
	if (thread->time) {
		thread->absence.off += time - thread->time;
		pass_time(thread->stack, time - thread->time);
	}
	thread->time = time;
}
