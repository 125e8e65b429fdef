/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The return stack over context switches: a CPU keeps the calls that it compresses returns against for itself, since its
 * last PSB, whatever thread made them. So a part of a segment begins with those of the parts before it.
 */
#ifndef FLOW_NATIVE_RETURN_STACK_H
#define FLOW_NATIVE_RETURN_STACK_H

#include "flow/native/decoder.h"

/*
 * Puts the calls from before the part (decoder->calls.before) under those that are on the stack, without those that returns of
 * the part have taken off. They are asked for once, and only by a return that needs one: without compressed returns over
 * context switches they cost nothing. Where some are hidden by a gap, returns to these are gaps (FLOW_GAP_SWITCH).
 */
void native_return_stack_restore(struct native_decoder *decoder);

/* The calls that are remembered where flow is now, at the segment's end. */
void native_return_stack_save(struct native_decoder *decoder, struct flow_return_stack *calls);

#endif
