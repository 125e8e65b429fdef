/* SPDX-License-Identifier: BSD-2-Clause */
/* Saves and restores the return stack between the parts of a segment. */
#include "flow/native/return_stack.h"

#include <string.h>

#include "flow/native/walk.h"

static struct native_return_site *return_site_at(const struct native_decoder *decoder, unsigned at)
{
	return decoder->calls.sites[(decoder->calls.top - decoder->calls.count + at) % NATIVE_STACK];
}

void native_return_stack_restore(struct native_decoder *decoder)
{
	const struct flow_engine_input *calls_input = decoder->calls.before;
	const unsigned own = decoder->calls.count;
	struct native_return_site *return_sites[NATIVE_STACK];
	struct flow_return_stack calls = {.count = 0};
	unsigned kept, first = 0;
	int status;

	decoder->calls.before = NULL;
	status = calls_input->calls_before(calls_input->calls_context, calls_input->segment, &calls);
	if (status < 0) {
		decoder->out.status = status;
		return;
	}
	if (calls.lost) {
		decoder->gap.cause = FLOW_GAP_SWITCH;
		decoder->gap.from = 0;
	}
	kept = calls.count > decoder->calls.missing ? calls.count - (unsigned)decoder->calls.missing : 0;
	/* The oldest calls are dropped if the stack would overflow. */
	if (kept > NATIVE_STACK - own) {
		first = kept - (NATIVE_STACK - own);
		kept = NATIVE_STACK - own;
	}
	for (unsigned i = 0; i < own; i++)
		return_sites[i] = return_site_at(decoder, i);
	for (unsigned i = 0; i < kept; i++) {
		decoder->calls.restored[i] = (struct native_return_site){.ip = calls.returns[first + i]};
		decoder->calls.sites[i] = &decoder->calls.restored[i];
	}
	memcpy(decoder->calls.sites + kept, return_sites, own * sizeof(return_sites[0]));
	decoder->calls.count = decoder->calls.top = kept + own;
}

void native_return_stack_save(struct native_decoder *decoder, struct flow_return_stack *calls)
{
	*calls = (struct flow_return_stack){.lost = true};
	if (decoder->failed || decoder->out.status)
		return;
	native_complete_stack(decoder);
	if (decoder->calls.before)
		native_return_stack_restore(decoder);
	for (unsigned i = 0; i < decoder->calls.count; i++)
		calls->returns[i] = return_site_at(decoder, i)->ip;
	calls->count = decoder->calls.count;
	calls->lost = decoder->gap.cause != FLOW_GAP_NONE;
}
