/* SPDX-License-Identifier: BSD-2-Clause */
/* The code of random programs. */
#include "tests/unit/random_flow_parts.h"

/* Instructions other than branches, of all lengths and encodings. */
static const struct {
	uint8_t size;
	uint8_t bytes[10];
} random_fillers[] = {
	{1, {0x90}},
	{2, {0x89, 0xd8}},
	{3, {0x48, 0x89, 0xc3}},
	{3, {0xf3, 0x48, 0xab}}, /* rep stosq: a single instruction */
	{3, {0xc5, 0xf8, 0x77}}, /* vzeroupper */
	{4, {0x48, 0x83, 0xc0, 0x01}},
	{4, {0x0f, 0x1f, 0x40, 0x00}},
	{5, {0xb8, 0xe8, 0x00, 0xc3, 0xff}},
	{5, {0xc4, 0xe2, 0x7d, 0x58, 0xc0}},
	{6, {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00}},
	{6, {0x62, 0xf1, 0x7c, 0x48, 0x28, 0xc1}}, /* EVEX vmovaps */
	{7, {0x48, 0x8d, 0x05, 0x10, 0x00, 0x00, 0x00}},
	{8, {0xf2, 0x0f, 0x10, 0x05, 0xeb, 0xfe, 0x00, 0x00}},
	{10, {0x48, 0xb8, 0xe9, 0xc3, 0x0f, 0x05, 0xcc, 0xff, 0xe0, 0x74}},
};

/* 32-bit instructions other than branches. */
static const struct {
	uint8_t size;
	uint8_t bytes[10];
} random_fillers_32[] = {
	{1, {0x90}},
	{1, {0x48}}, /* dec eax */
	{1, {0x06}}, /* push es */
	{2, {0x89, 0xd8}},
	{3, {0x66, 0x89, 0xd8}},
	{3, {0x83, 0xc0, 0x01}},
	{3, {0xc5, 0xf8, 0x77}},
	{4, {0x0f, 0x1f, 0x40, 0x00}},
	{4, {0x66, 0xb8, 0xe8, 0xc3}},
	{5, {0xb8, 0xe8, 0x00, 0xc3, 0xff}},
	{6, {0x8d, 0x05, 0xeb, 0xfe, 0x00, 0x00}},
	{10, {0xc7, 0x05, 0x10, 0x00, 0x00, 0x00, 0xe9, 0xc3, 0x0f, 0x05}},
};

const uint8_t random_ptwrite[4] = {0xf3, 0x0f, 0xae, 0xe0};

bool random_flow_has(const struct random_flow *flow, unsigned feature)
{
	return flow->features & feature;
}

bool random_flow_chance(struct random_flow *flow, unsigned feature, unsigned times)
{
	return random_flow_has(flow, feature) && pt_random_below(&flow->more, times) == 0;
}

uint64_t random_flow_address(const struct random_flow *flow, uint32_t offset)
{
	unsigned low = 0, high = flow->range_count;

	while (high - low > 1) {
		unsigned middle = (low + high) / 2;

		if (flow->ranges[middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	return flow->base + offset + (uint64_t)low * RANDOM_FLOW_APART;
}

void random_flow_emit(struct random_flow *flow, const uint8_t *bytes, unsigned size)
{
	memcpy(flow->code + flow->code_size, bytes, size);
	flow->lengths[flow->code_size] = (uint8_t)size;
	flow->code_size += size;
}

void random_flow_emit_end(struct random_flow *flow, enum random_end kind)
{
	static const struct {
		uint8_t size;
		uint8_t bytes[6];
	} ends[END_KINDS] = {
		[END_JCC] = {6, {0x0f, 0x84}},     [END_JMP] = {5, {0xe9}},
		[END_CALL] = {5, {0xe8}},          [END_RET] = {1, {0xc3}},
		[END_JMP_REG] = {2, {0xff, 0xe0}}, [END_CALL_REG] = {2, {0xff, 0xd1}},
		[END_SYSCALL] = {2, {0x0f, 0x05}},
	};
	static const uint8_t interrupt[2] = {0xcd, 0x80};

	if (kind == END_SYSCALL && flow->mode == 32)
		random_flow_emit(flow, interrupt, sizeof(interrupt));
	else
		random_flow_emit(flow, ends[kind].bytes, ends[kind].size);
}

void random_flow_emit_filler(struct random_flow *flow)
{
	size_t filler;

	if (random_flow_chance(flow, FLOW_EVENTS, 40)) {
		random_flow_emit(flow, random_ptwrite, sizeof(random_ptwrite));
	} else if (flow->mode == 32) {
		filler = pt_random_below(&flow->random, sizeof(random_fillers_32) / sizeof(random_fillers_32[0]));
		random_flow_emit(flow, random_fillers_32[filler].bytes, random_fillers_32[filler].size);
	} else {
		filler = pt_random_below(&flow->random, sizeof(random_fillers) / sizeof(random_fillers[0]));
		random_flow_emit(flow, random_fillers[filler].bytes, random_fillers[filler].size);
	}
}

void random_flow_aim(struct random_flow *flow, unsigned i, struct pt_random *random)
{
	struct random_block *block = &flow->blocks[i];
	/* Direct jumps and calls lead forward, so that every loop has a packet. */
	unsigned least = block->kind == END_JCC ? 0 : i + 1;
	unsigned target;

	if (block->kind != END_JCC && block->kind != END_JMP && block->kind != END_CALL)
		return;
	target = least + (unsigned)pt_random_below(random, RANDOM_FLOW_BLOCKS - least);
	/* Occasionally a call of the next instruction, which the CPU does not push on the return stack. */
	if (block->kind == END_CALL && pt_random_below(random, 8) == 0)
		target = i + 1;
	block->target = flow->blocks[target].start;
	common_store32(flow->code + block->end - 4, (uint32_t)(random_flow_address(flow, block->target) -
							       (random_flow_address(flow, block->end - 1) + 1)));
}

void random_flow_make_code(struct random_flow *flow)
{
	static const uint8_t weights[] = {END_JCC,  END_JCC, END_JCC, END_JCC,     END_JMP,      END_CALL,
					  END_CALL, END_RET, END_RET, END_JMP_REG, END_CALL_REG, END_SYSCALL};

	for (unsigned i = 0; i < RANDOM_FLOW_BLOCKS; i++) {
		struct random_block *block = &flow->blocks[i];
		unsigned count = (unsigned)pt_random_below(&flow->random, 8);
		unsigned range = i * flow->range_count / RANDOM_FLOW_BLOCKS;
		bool last = (i + 1) * flow->range_count / RANDOM_FLOW_BLOCKS != range;

		if (!i || (i - 1) * flow->range_count / RANDOM_FLOW_BLOCKS != range)
			flow->ranges[range] = flow->code_size;
		block->start = flow->code_size;
		while (count--)
			random_flow_emit_filler(flow);
		/* A range's last block must not fall through. */
		block->kind = last ? END_JMP_REG : weights[pt_random_below(&flow->random, sizeof(weights))];
		block->last = flow->code_size;
		random_flow_emit_end(flow, block->kind);
		block->end = flow->code_size;
	}
	for (unsigned i = 0; i < RANDOM_FLOW_BLOCKS; i++)
		random_flow_aim(flow, i, &flow->random);
}

uint32_t random_flow_anywhere(struct random_flow *flow)
{
	return flow->blocks[pt_random_below(&flow->random, RANDOM_FLOW_BLOCKS)].start;
}

const struct random_block *random_flow_block(const struct random_flow *flow, uint32_t ip)
{
	unsigned low = 0, high = RANDOM_FLOW_BLOCKS;

	while (high - low > 1) {
		unsigned middle = (low + high) / 2;

		if (flow->blocks[middle].start <= ip)
			low = middle;
		else
			high = middle;
	}
	return &flow->blocks[low];
}
