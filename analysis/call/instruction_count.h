/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts the instructions that a thread has executed so far on all its stacks. */
#ifndef ANALYSIS_CALL_INSTRUCTION_COUNT_H
#define ANALYSIS_CALL_INSTRUCTION_COUNT_H

#include "analysis/call/call_stack.h"

/* Zero-initialise at the begin of a thread. */
struct analysis_instruction_count {
	uint64_t all;
	uint64_t seen;  /* part of `all` on the current stack */
	uint32_t stack; /* number of the current stack */
};

/* Call in each function of an observer: the stack may have changed. */
static inline void analysis_instruction_count_follow(struct analysis_instruction_count *count,
						     const struct analysis_call_thread *thread)
{
	const struct analysis_stack *before = count->stack < thread->stack_count ? thread->stacks[count->stack] : NULL;

	if (before && before->instructions > count->seen)
		count->all += before->instructions - count->seen;
	count->stack = thread->stack ? thread->stack->number : 0;
	count->seen = thread->stack ? thread->stack->instructions : 0;
}

#endif
