/* SPDX-License-Identifier: BSD-2-Clause */
/* How many instructions a thread has executed so far, on all of its stacks. */
#ifndef DUMP_CALL_INSTRUCTION_COUNT_H
#define DUMP_CALL_INSTRUCTION_COUNT_H

#include "dump/call/call_stack.h"

/* Zero-initialised when a thread begins. */
struct dump_instruction_count {
	uint64_t all;
	uint64_t seen;  /* of these, on the stack that the thread is on */
	uint32_t stack; /* its number */
};

/* To be called by each function of an observer: the stack may be another one than before. */
static inline void dump_instruction_count_follow(struct dump_instruction_count *count,
						 const struct dump_call_thread *thread)
{
	const struct dump_stack *before = count->stack < thread->stack_count ? thread->stacks[count->stack] : NULL;

	if (before && before->instructions > count->seen)
		count->all += before->instructions - count->seen;
	count->stack = thread->stack ? thread->stack->number : 0;
	count->seen = thread->stack ? thread->stack->instructions : 0;
}

#endif
