/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The return stack over context switches: a CPU remembers the calls since its last PSB for return compression, of all
 * threads. So a part of a segment begins with those of the parts before it.
 */
#ifndef FLOW_NATIVE_RETURN_STACK_H
#define FLOW_NATIVE_RETURN_STACK_H

#include "flow/native/decoder.h"

/*
 * Puts the calls from before the part (decoder->calls.before) below those on the stack, without those that returns of
 * the part have taken off. This is done once, when a return needs one: without compressed returns over context
 * switches it costs nothing. Where a gap hides some, returns to them are gaps (FLOW_GAP_SWITCH).
 */
void native_return_stack_restore(struct native_decoder *decoder);

/* The calls on the stack at the end of the segment. */
void native_return_stack_save(struct native_decoder *decoder, struct flow_return_stack *calls);

#endif
