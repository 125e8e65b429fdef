/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes PT packet by packet and by packet words, and compares the flow. */
#include "tests/unit/packet_word_flow.h"

#include <stdlib.h>

#include "flow/segment/packets.h"

/* Hash of blocks, events and marks in order. */
struct word_sum {
	uint64_t mixed;
	uint64_t steps;
};

static void word_mix(struct word_sum *sum, uint64_t value)
{
	sum->mixed = (sum->mixed ^ value) * 0x100000001b3ull;
	sum->mixed ^= sum->mixed >> 29;
}

static void word_mix_event(struct word_sum *sum, const struct flow_event *event)
{
	word_mix(sum, event->kind | event->cause << 8 | event->flags << 16);
	word_mix(sum, event->type | event->item << 8);
	word_mix(sum, event->time);
	word_mix(sum, event->offset);
	word_mix(sum, event->from);
	word_mix(sum, event->to);
	word_mix(sum, event->value);
	word_mix(sum, event->size);
}

static int word_take(void *context, const struct flow_batch *batch)
{
	struct flow_batch_cursor cursor = flow_batch_walk(batch);
	uint64_t instructions = 0, branches = 0, blocks = 0;
	struct word_sum *sum = context;

	for (; flow_batch_next(&cursor); sum->steps++) {
		if (cursor.event) {
			word_mix_event(sum, cursor.event);
			continue;
		}
		word_mix(sum, cursor.block->ip);
		word_mix(sum, cursor.block->size);
		word_mix(sum, cursor.block->instructions);
		word_mix(sum, cursor.time);
		word_mix(sum, cursor.speculative);
		word_mix(sum, flow_batch_mark(&cursor)->before);
		word_mix(sum, flow_batch_mark(&cursor)->after);
		instructions += cursor.block->instructions;
		branches += cursor.block->branch != FLOW_BRANCH_NONE;
		blocks++;
	}
	/* The sums of a batch must match its blocks. */
	if (instructions != batch->instructions || branches != batch->branches || blocks != batch->block_count)
		abort();
	return 0;
}

static void word_decode(struct native_decoder *decoder, uint8_t *pt, size_t size, struct word_changes *changes,
			struct word_sum *sum)
{
	const struct flow_sink sink = {.take = word_take, .context = sum};
	size_t at = ptl_pt_find_psb(pt, size, 0);

	*sum = (struct word_sum){0};
	while (at < size) {
		const size_t next = ptl_pt_find_psb(pt, size, at + PTL_PT_PSB_SIZE);
		const struct flow_segment segment = {.offset = at};
		struct flow_psb_plus psb_plus;
		struct flow_engine_input input = {.segment = &segment, .bytes = pt + at, .size = next - at};

		flow_psb_plus_read(pt + next, size - next, &(struct flow_errata){0}, &psb_plus);
		input.has_next = psb_plus.complete;
		input.next_ip_known = psb_plus.has_ip;
		input.next_ip = psb_plus.ip;
		if (changes)
			changes->before(changes, decoder, at);
		if (native_decoder_run(decoder, &input, &sink) < 0)
			abort();
		at = next;
	}
}

bool word_flows_equal_changing(struct native_source source, unsigned mode, uint8_t *pt, size_t size, unsigned rounds,
			       struct word_changes *changes, uint32_t *known)
{
	const struct ptl_machine machine = {.mode = (uint8_t)mode, .tsc_multiplier = changes ? 1 : 0};
	struct native_decoder one_by_one, by_words;
	struct word_sum expected, sum;
	bool same = true;

	if (native_decoder_open(&one_by_one, source, &machine) < 0 ||
	    native_decoder_open(&by_words, source, &machine) < 0)
		abort();
	one_by_one.code->packet_words.rest = INT64_MAX;
	by_words.code->packet_words.rest = 0;
	word_decode(&one_by_one, pt, size, changes, &expected);
	for (unsigned i = 0; i < rounds; i++) {
		word_decode(&by_words, pt, size, changes, &sum);
		same = same && sum.mixed == expected.mixed && sum.steps == expected.steps;
	}
	*known = by_words.code->packet_words.word_count;
	native_decoder_close(&one_by_one);
	native_decoder_close(&by_words);
	return same;
}

bool word_flows_equal(struct native_source source, unsigned mode, uint8_t *pt, size_t size, unsigned rounds,
		      uint32_t *known)
{
	return word_flows_equal_changing(source, mode, pt, size, rounds, NULL, known);
}
