/* SPDX-License-Identifier: BSD-2-Clause */
/* The return stack: calls of the batch, and calls of earlier parts of a segment. */
#include "flow/native/return_stack.h"

#include <string.h>

/*
 * Pops calls. An empty stack stays empty; `missing` counts popped calls from before the part, which are not on the
 * stack yet.
 */
static void pop(struct native_decoder *decoder, unsigned count)
{
	if (count > decoder->calls.count) {
		decoder->calls.missing += count - decoder->calls.count;
		count = decoder->calls.count;
	}
	decoder->calls.count -= count;
	decoder->calls.top -= count;
}

void native_update_stack(struct native_decoder *decoder)
{
	for (; decoder->calls.runs < decoder->out.run_count; decoder->calls.runs++) {
		const struct native_run *run = (const struct native_run *)decoder->out.runs[decoder->calls.runs];

		pop(decoder, decoder->calls.returning + run->pops);
		decoder->calls.returning = run->returns;
		for (uint32_t i = 0; i < run->push_count; i++)
			decoder->calls.sites[decoder->calls.top++ % NATIVE_STACK] = run->pushes[i];
		decoder->calls.count += run->push_count;
		if (decoder->calls.count > NATIVE_STACK)
			decoder->calls.count = NATIVE_STACK;
	}
}

void native_complete_stack(struct native_decoder *decoder)
{
	native_update_stack(decoder);
	pop(decoder, decoder->calls.returning);
	decoder->calls.returning = false;
}

/* --- between parts of a segment ----------------------------------------------------------------------- */

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
