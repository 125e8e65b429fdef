/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands the return stack on from one part of a segment to the next. */
#include "flow/native/return_stack.h"

#include <string.h>

#include "flow/native/walk.h"

static struct native_return_site *return_site_at(const struct native_decoder *decoder, unsigned at)
{
	return decoder->stack[(decoder->stack_top - decoder->stack_count + at) % NATIVE_STACK];
}

void native_return_stack_restore(struct native_decoder *decoder)
{
	const struct flow_engine_input *calls_input = decoder->calls_input;
	const unsigned own = decoder->stack_count;
	struct native_return_site *return_sites[NATIVE_STACK];
	struct flow_return_stack calls = {.count = 0};
	unsigned kept, first = 0;
	int status;

	decoder->calls_input = NULL;
	status = calls_input->calls_before(calls_input->calls_context, calls_input->segment, &calls);
	if (status < 0) {
		decoder->out.status = status;
		return;
	}
	if (calls.lost) {
		decoder->lost_cause = FLOW_GAP_SWITCH;
		decoder->lost_from = 0;
	}
	kept = calls.count > decoder->missing ? calls.count - (unsigned)decoder->missing : 0;
	/* The oldest are forgotten where there are too many. */
	if (kept > NATIVE_STACK - own) {
		first = kept - (NATIVE_STACK - own);
		kept = NATIVE_STACK - own;
	}
	for (unsigned i = 0; i < own; i++)
		return_sites[i] = return_site_at(decoder, i);
	for (unsigned i = 0; i < kept; i++) {
		decoder->restored[i] = (struct native_return_site){.ip = calls.returns[first + i]};
		decoder->stack[i] = &decoder->restored[i];
	}
	memcpy(decoder->stack + kept, return_sites, own * sizeof(return_sites[0]));
	decoder->stack_count = decoder->stack_top = kept + own;
}

void native_return_stack_save(struct native_decoder *decoder, struct flow_return_stack *calls)
{
	*calls = (struct flow_return_stack){.lost = true};
	if (decoder->failed || decoder->out.status)
		return;
	native_complete_stack(decoder);
	if (decoder->calls_input)
		native_return_stack_restore(decoder);
	for (unsigned i = 0; i < decoder->stack_count; i++)
		calls->returns[i] = return_site_at(decoder, i)->ip;
	calls->count = decoder->stack_count;
	calls->lost = decoder->lost_cause != FLOW_GAP_NONE;
}
