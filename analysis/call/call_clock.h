/* SPDX-License-Identifier: BSD-2-Clause */
/* Clocks of a thread and of its stacks. */
#ifndef ANALYSIS_CALL_CALL_CLOCK_H
#define ANALYSIS_CALL_CALL_CLOCK_H

#include <stdint.h>

struct analysis_call_thread;

enum analysis_thread_state {
	ANALYSIS_THREAD_RUNNING,
	ANALYSIS_THREAD_IN_KERNEL,
	ANALYSIS_THREAD_IN_GAP,
	ANALYSIS_THREAD_OUTSIDE,
};

/* Adds instructions executed after the last transfer. time: of the last instruction; 0: unknown. */
void analysis_calls_pass(struct analysis_call_thread *thread, uint64_t instructions, uint64_t time);
/* The thread was switched out from the end of its flow so far until `time`. */
void analysis_calls_off(struct analysis_call_thread *thread, uint64_t time);

#endif
