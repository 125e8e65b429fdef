/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes the code of random programs under way. */
#include "tests/unit/random_changes.h"

#include "tests/unit/random_flow_parts.h"

/* Writes instructions into `room` bytes from `start` on. */
static void flow_fill(struct random_flow *flow, uint32_t start, uint32_t room)
{
	static const uint8_t small[2][2] = {{0x90}, {0x89, 0xd8}};
	const uint32_t code_size = flow->code_size;

	memset(flow->lengths + start, 0, room);
	flow->code_size = start;
	while (flow->code_size < start + room) {
		const uint32_t left = start + room - flow->code_size;
		const unsigned size = left > 1 && pt_random_below(&flow->more, 2) ? 2 : 1;

		if (left >= 10)
			random_flow_emit_filler(flow);
		else
			random_flow_emit(flow, small[size - 1], size);
	}
	flow->code_size = code_size;
}

/* Returns whether block i ends a range of code and so must not fall through. */
static bool flow_ends_range(const struct random_flow *flow, unsigned i)
{
	const uint32_t end = flow->blocks[i].end;

	return i + 1 == RANDOM_FLOW_BLOCKS || random_flow_address(flow, end - 1) + 1 != random_flow_address(flow, end);
}

/* Replaces block i's instructions, up to another branch. */
static void flow_rewrite(struct random_flow *flow, unsigned i)
{
	static const struct {
		uint8_t kind, size;
	} ends[] = {{END_JCC, 6},     {END_JMP, 5},      {END_CALL, 5},   {END_RET, 1},
		    {END_JMP_REG, 2}, {END_CALL_REG, 2}, {END_SYSCALL, 2}};
	struct random_block *block = &flow->blocks[i];
	const size_t end = pt_random_below(&flow->more, sizeof(ends) / sizeof(ends[0]));
	const uint32_t code_size = flow->code_size;

	if (!flow_ends_range(flow, i) && ends[end].size <= block->end - block->start) {
		block->kind = ends[end].kind;
		memset(flow->lengths + block->last, 0, block->end - block->last);
		block->last = block->end - ends[end].size;
		flow->code_size = block->last;
		random_flow_emit_end(flow, block->kind);
		flow->code_size = code_size;
	}
	flow_fill(flow, block->start, block->last - block->start);
	random_flow_aim(flow, i, &flow->more);
}

/* Reports the bytes of [first, first + size), or a larger range, as changed from now on. */
static void flow_report_change(struct random_flow *flow, size_t at, uint32_t first, uint32_t size)
{
	struct random_changes *changes = flow->changes;
	struct random_change *change = &changes->list[changes->count];
	uint32_t end = first + size;

	if (pt_random_below(&flow->more, 3) == 0) {
		uint32_t more = (uint32_t)random_flow_value(flow, 12);

		while (more && first && random_flow_address(flow, first) - 1 == random_flow_address(flow, first - 1))
			first--, more--;
		more = (uint32_t)random_flow_value(flow, 12);
		while (more && end < flow->code_size &&
		       random_flow_address(flow, end - 1) + 1 == random_flow_address(flow, end))
			end++, more--;
	}
	if (changes->count == RANDOM_CHANGES || changes->used + (end - first) > RANDOM_CHANGES_BYTES)
		abort();
	*change = (struct random_change){
		.at = at,
		.clock = flow->clock,
		.first = first,
		.size = end - first,
		.bytes = (uint32_t)changes->used,
		.load = pt_random_below(&flow->more, 4) == 0,
	};
	memcpy(changes->bytes + changes->used, flow->code + first, end - first);
	changes->used += end - first;
	changes->count++;
}

/* Changes a few blocks, except the block being executed. */
static void random_change(struct random_flow *flow, uint32_t ip)
{
	struct random_changes *changes = flow->changes;
	unsigned count = 1 + (unsigned)pt_random_below(&flow->more, 4);
	size_t at;

	if (changes->count + 4 > RANDOM_CHANGES || changes->used + 4 * RANDOM_FLOW_CODE > RANDOM_CHANGES_BYTES)
		return;
	random_flow_flush(flow);
	at = flow->pt_size;
	/* With changes by time, a decoder would use the new code for instructions not yet proven by packets. */
	if (changes->by_time && flow->proven != flow->truth_count)
		return;
	/* The clock advances beyond all times that precede just-sent bits. */
	if (changes->by_time)
		FLOW_PUT(flow, PTL_PT_TSC, .tsc = {++flow->clock});
	else
		random_flow_psb(flow, true, ip);
	while (count--) {
		unsigned i = (unsigned)pt_random_below(&flow->more, RANDOM_FLOW_BLOCKS);
		const struct random_block *block = &flow->blocks[i];

		if (ip > block->start && ip < block->end)
			continue;
		/* Occasionally the reported bytes are unchanged. */
		if (pt_random_below(&flow->more, 8))
			flow_rewrite(flow, i);
		flow_report_change(flow, at, block->start, block->end - block->start);
	}
}

void random_flow_make_changing(struct random_flow *flow, uint64_t seed, size_t steps, unsigned ranges,
			       unsigned features, struct random_changes *changes, bool by_time)
{
	changes->count = changes->used = 0;
	changes->by_time = by_time;
	random_flow_begin(flow, seed, ranges, features);
	flow->features |= FLOW_CHANGES | (by_time ? FLOW_CLOCK : 0);
	flow->changes = changes;
	flow->change = random_change;
	memcpy(flow->first_code, flow->code, flow->code_size);
	random_flow_run(flow, steps);
}
