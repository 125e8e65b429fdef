/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The return stack over context switches. For return compression, a CPU remembers the calls of all threads since the
 * last PSB. So a part of a segment begins with the calls of the earlier parts.
 */
#ifndef FLOW_NATIVE_RETURN_STACK_H
#define FLOW_NATIVE_RETURN_STACK_H

#include "flow/native/decoder.h"

/*
 * Updates the return stack with the runs of the batch. If flow is still at a return at the end of the last run
 * (returning), this return is not popped.
 */
void native_update_stack(struct native_decoder *decoder);
/* As native_update_stack, after flow has left the last run: a return at the run's end is popped. */
void native_complete_stack(struct native_decoder *decoder);

/* Forgets all calls so far. */
static inline void native_clear_stack(struct native_decoder *decoder)
{
	decoder->calls.count = 0;
	decoder->calls.runs = decoder->out.run_count;
	decoder->calls.returning = false;
	decoder->calls.before = NULL;
}

/*
 * Puts the calls from before the part (decoder->calls.before) below the calls on the stack, except the calls that the
 * part's returns have popped. Called once, when a return needs an older call; without compressed returns over context
 * switches, the cost is zero. If a gap hides calls, returns to such calls are gaps (FLOW_GAP_SWITCH).
 */
void native_return_stack_restore(struct native_decoder *decoder);

/* Saves the calls on the stack at the end of the segment. */
void native_return_stack_save(struct native_decoder *decoder, struct flow_return_stack *calls);

#endif
