/* SPDX-License-Identifier: BSD-2-Clause */
/* Random programs with the Intel PT of a random run of them, and the addresses that the run really executed. */
#ifndef PTL_TESTS_UNIT_RANDOM_FLOW_H
#define PTL_TESTS_UNIT_RANDOM_FLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/pt_encode.h"
#include "tests/unit/pt_random.h"

#define RANDOM_FLOW_BLOCKS 400
#define RANDOM_FLOW_CODE (1u << 16)
#define RANDOM_FLOW_PT (1u << 20)
#define RANDOM_FLOW_TRUTH (1u << 19)
#define RANDOM_FLOW_STACK 64
#define RANDOM_FLOW_RANGES 64    /* where the code lies in separate ranges */
#define RANDOM_FLOW_APART 0x10000u /* address space from one range's start to the next one's, at least */

enum random_end { END_JCC, END_JMP, END_CALL, END_RET, END_JMP_REG, END_CALL_REG, END_SYSCALL, END_KINDS };

struct random_block {
	uint32_t start; /* offset in the code */
	uint32_t last;  /* of its last instruction */
	uint32_t end;
	uint32_t target; /* of a direct branch */
	enum random_end kind;
};

/* A program, one run of it, and the encoder's state. About 6 MiB: not for the stack. */
struct random_flow {
	struct pt_random random;
	uint64_t base;
	bool return_compression;
	bool long_tnt;

	uint8_t code[RANDOM_FLOW_CODE];
	uint32_t code_size;
	struct random_block blocks[RANDOM_FLOW_BLOCKS];
	uint32_t ranges[RANDOM_FLOW_RANGES]; /* offset in the code of each range's first byte */
	unsigned range_count;
	uint8_t lengths[RANDOM_FLOW_CODE]; /* of the instruction at an offset; 0: none starts there */

	uint8_t pt[RANDOM_FLOW_PT + 64];
	size_t pt_size;
	uint64_t truth[RANDOM_FLOW_TRUTH];
	size_t truth_count;
	size_t proven; /* of truth: what the packets so far tell of */
	unsigned segments, enables, asyncs, overflows;

	uint64_t tnt; /* below a stop bit */
	uint64_t last_ip;
	uint64_t cpu_stack[RANDOM_FLOW_STACK];
	unsigned cpu_top, cpu_count;
	uint32_t stack[256]; /* the program's own, as offsets */
	unsigned depth;
};

/* Instructions that are no branches, of all lengths and encodings. */
static const struct {
	uint8_t size;
	uint8_t bytes[10];
} random_fillers[] = {
	{1, {0x90}},
	{2, {0x89, 0xd8}},
	{3, {0x48, 0x89, 0xc3}},
	{3, {0xf3, 0x48, 0xab}}, /* rep stosq: one instruction */
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

/* The address of the byte at an offset of the code. */
static inline uint64_t flow_address(const struct random_flow *flow, uint32_t offset)
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

static inline void flow_emit(struct random_flow *flow, const uint8_t *bytes, unsigned size)
{
	memcpy(flow->code + flow->code_size, bytes, size);
	flow->lengths[flow->code_size] = (uint8_t)size;
	flow->code_size += size;
}

/* The last instruction; the displacement of a direct branch is filled in later. */
static inline void flow_emit_end(struct random_flow *flow, enum random_end kind)
{
	static const struct {
		uint8_t size;
		uint8_t bytes[6];
	} ends[END_KINDS] = {
		[END_JCC] = {6, {0x0f, 0x84}},    [END_JMP] = {5, {0xe9}},
		[END_CALL] = {5, {0xe8}},	  [END_RET] = {1, {0xc3}},
		[END_JMP_REG] = {2, {0xff, 0xe0}}, [END_CALL_REG] = {2, {0xff, 0xd1}},
		[END_SYSCALL] = {2, {0x0f, 0x05}},
	};

	flow_emit(flow, ends[kind].bytes, ends[kind].size);
}

static inline void flow_make_code(struct random_flow *flow)
{
	static const uint8_t weights[] = {END_JCC, END_JCC, END_JCC, END_JCC, END_JMP, END_CALL, END_CALL,
					  END_RET, END_RET, END_JMP_REG, END_CALL_REG, END_SYSCALL};

	for (unsigned i = 0; i < RANDOM_FLOW_BLOCKS; i++) {
		struct random_block *block = &flow->blocks[i];
		unsigned count = (unsigned)pt_random_below(&flow->random, 8);
		unsigned range = i * flow->range_count / RANDOM_FLOW_BLOCKS;
		bool last = (i + 1) * flow->range_count / RANDOM_FLOW_BLOCKS != range;

		if (!i || (i - 1) * flow->range_count / RANDOM_FLOW_BLOCKS != range)
			flow->ranges[range] = flow->code_size;
		block->start = flow->code_size;
		while (count--) {
			unsigned filler = (unsigned)pt_random_below(
				&flow->random, sizeof(random_fillers) / sizeof(random_fillers[0]));

			flow_emit(flow, random_fillers[filler].bytes, random_fillers[filler].size);
		}
		/* The last block of a range must not fall through. */
		block->kind = last ? END_JMP_REG : weights[pt_random_below(&flow->random, sizeof(weights))];
		block->last = flow->code_size;
		flow_emit_end(flow, block->kind);
		block->end = flow->code_size;
	}
	for (unsigned i = 0; i < RANDOM_FLOW_BLOCKS; i++) {
		struct random_block *block = &flow->blocks[i];
		/* Direct jumps and calls lead forward, so that no loop is without a packet. */
		unsigned least = block->kind == END_JCC ? 0 : i + 1;
		unsigned target;

		if (block->kind != END_JCC && block->kind != END_JMP && block->kind != END_CALL)
			continue;
		target = least + (unsigned)pt_random_below(&flow->random, RANDOM_FLOW_BLOCKS - least);
		/* Now and then a call of the next instruction, which pushes nothing in the CPU's eyes. */
		if (block->kind == END_CALL && pt_random_below(&flow->random, 8) == 0)
			target = i + 1;
		block->target = flow->blocks[target].start;
		ptl_store32(flow->code + block->end - 4,
			    (uint32_t)(flow_address(flow, block->target) -
				       (flow_address(flow, block->end - 1) + 1)));
	}
}

static inline uint8_t *flow_at(struct random_flow *flow)
{
	return flow->pt + flow->pt_size;
}

static inline void flow_flush(struct random_flow *flow)
{
	if (flow->tnt > 1)
		flow->pt_size += ptl_pt_put_tnt(flow_at(flow), flow->tnt);
	flow->tnt = 1;
}

static inline void flow_bit(struct random_flow *flow, bool taken)
{
	unsigned limit = flow->long_tnt ? PTL_PT_TNT_64_MAX : PTL_PT_TNT_8_MAX;

	flow->tnt = flow->tnt << 1 | taken;
	flow->proven = flow->truth_count;
	if (flow->tnt >> limit || pt_random_below(&flow->random, 40) == 0)
		flow_flush(flow);
}

static inline void flow_psb(struct random_flow *flow, bool enabled, uint32_t ip)
{
	flow_flush(flow);
	flow->pt_size += ptl_pt_put_psb(flow_at(flow));
	flow->last_ip = 0;
	flow->cpu_count = 0;
	flow->pt_size += ptl_pt_put_cbr(flow_at(flow), 10);
	flow->pt_size += ptl_pt_put_mode_exec(flow_at(flow), true, false, true);
	if (enabled)
		flow->pt_size += ptl_pt_put_fup(flow_at(flow), &flow->last_ip, flow_address(flow, ip));
	flow->pt_size += ptl_pt_put_psbend(flow_at(flow));
	flow->proven = flow->truth_count;
	flow->segments++;
}

static inline uint32_t flow_anywhere(struct random_flow *flow)
{
	return flow->blocks[pt_random_below(&flow->random, RANDOM_FLOW_BLOCKS)].start;
}

static inline void flow_call(struct random_flow *flow, uint32_t from, bool counted)
{
	if (flow->depth == 256)
		memmove(flow->stack, flow->stack + 1, --flow->depth * sizeof(flow->stack[0]));
	flow->stack[flow->depth++] = from;
	if (!counted)
		return;
	flow->cpu_stack[flow->cpu_top++ % RANDOM_FLOW_STACK] = flow_address(flow, from);
	if (flow->cpu_count < RANDOM_FLOW_STACK)
		flow->cpu_count++;
}

static inline void flow_tip(struct random_flow *flow, uint32_t ip)
{
	flow_flush(flow);
	flow->pt_size += ptl_pt_put_tip(flow_at(flow), &flow->last_ip, flow_address(flow, ip));
	flow->proven = flow->truth_count;
}

/* A return to the newest caller, or by a forged address somewhere else. */
static inline uint32_t flow_return(struct random_flow *flow)
{
	bool honest = flow->depth && pt_random_below(&flow->random, 16);
	uint32_t to = honest ? flow->stack[--flow->depth] : flow_anywhere(flow);

	if (flow->return_compression && flow->cpu_count &&
	    flow->cpu_stack[(flow->cpu_top - 1) % RANDOM_FLOW_STACK] == flow_address(flow, to)) {
		flow->cpu_top--;
		flow->cpu_count--;
		flow_bit(flow, true);
	} else {
		flow_tip(flow, to);
	}
	return to;
}

/* TIP.PGD and, later, TIP.PGE; returns where. */
static inline uint32_t flow_leave(struct random_flow *flow, bool with_ip, uint32_t resume)
{
	flow_flush(flow);
	if (with_ip)
		flow->pt_size += ptl_pt_put_tip_pgd(flow_at(flow), &flow->last_ip, flow->base - 64);
	else
		flow->pt_size += ptl_pt_put_tip_pgd_no_ip(flow_at(flow));
	flow->proven = flow->truth_count;
	if (pt_random_below(&flow->random, 16) == 0)
		flow_psb(flow, false, 0);
	flow->pt_size += ptl_pt_put_tip_pge(flow_at(flow), &flow->last_ip, flow_address(flow, resume));
	flow->enables++;
	return resume;
}

/* Something that happens before the instruction at ip; returns where flow goes on. */
static inline uint32_t flow_disturb(struct random_flow *flow, uint32_t ip)
{
	uint32_t to = flow_anywhere(flow);

	flow_flush(flow);
	switch (pt_random_below(&flow->random, 4)) {
	case 0:
		flow_psb(flow, true, ip);
		return ip;
	case 1: /* an interrupt that stays in what is traced */
		flow->pt_size += ptl_pt_put_fup(flow_at(flow), &flow->last_ip, flow_address(flow, ip));
		flow->asyncs++;
		flow_tip(flow, to);
		return to;
	case 2: /* one that does not */
		flow->pt_size += ptl_pt_put_fup(flow_at(flow), &flow->last_ip, flow_address(flow, ip));
		flow->asyncs++;
		return flow_leave(flow, pt_random_below(&flow->random, 2), pt_random_below(&flow->random, 2) ? ip : to);
	default: /* an overflow: what no packet proves is lost */
		flow->truth_count = flow->proven;
		flow->pt_size += ptl_pt_put_ovf(flow_at(flow));
		/* The decoder has not seen the calls that were lost. */
		flow->cpu_count = 0;
		flow->last_ip = 0;
		flow->pt_size += ptl_pt_put_fup(flow_at(flow), &flow->last_ip, flow_address(flow, to));
		flow->overflows++;
		return to;
	}
}

static inline const struct random_block *flow_block(const struct random_flow *flow, uint32_t ip)
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

/* Executes the last instruction of block; returns where it leads. */
static inline uint32_t flow_branch(struct random_flow *flow, const struct random_block *block)
{
	uint32_t to = flow_anywhere(flow);
	bool taken;

	switch (block->kind) {
	case END_JCC:
		taken = pt_random_below(&flow->random, 2);
		flow_bit(flow, taken);
		return taken ? block->target : block->end;
	case END_JMP:
		return block->target;
	case END_CALL:
		flow_call(flow, block->end, block->target != block->end);
		return block->target;
	case END_RET:
		return flow_return(flow);
	case END_CALL_REG:
		flow_call(flow, block->end, true);
		flow_tip(flow, to);
		return to;
	case END_SYSCALL:
		return flow_leave(flow, false, block->end);
	default:
		if (pt_random_below(&flow->random, 8) == 0)
			return flow_leave(flow, true, to);
		flow_tip(flow, to);
		return to;
	}
}

/*
 * Makes the program, its code in this many ranges (1 to RANDOM_FLOW_RANGES), and runs it for about `steps`
 * instructions; seed gives the same one everywhere.
 */
static inline void random_flow_make_apart(struct random_flow *flow, uint64_t seed, size_t steps, unsigned ranges)
{
	uint32_t ip;

	memset(flow, 0, sizeof(*flow));
	flow->random = pt_random(seed);
	flow->range_count = ranges;
	flow->base = pt_random_below(&flow->random, 2) ? 0x400000 : 0x7ffff7810000ull;
	flow->return_compression = pt_random_below(&flow->random, 4);
	flow->long_tnt = pt_random_below(&flow->random, 2);
	flow->tnt = 1;
	flow_make_code(flow);
	ip = flow_anywhere(flow);
	flow_psb(flow, true, ip);
	while (flow->truth_count < steps && flow->pt_size < RANDOM_FLOW_PT - 256) {
		const struct random_block *block = flow_block(flow, ip);

		if (pt_random_below(&flow->random, 400) == 0) {
			ip = flow_disturb(flow, ip);
			continue;
		}
		flow->truth[flow->truth_count++] = flow_address(flow, ip);
		if (ip == block->last)
			ip = flow_branch(flow, block);
		else
			ip += flow->lengths[ip];
	}
	flow_flush(flow);
	flow->truth_count = flow->proven;
}

static inline void random_flow_make(struct random_flow *flow, uint64_t seed, size_t steps)
{
	random_flow_make_apart(flow, seed, steps, 1);
}

#endif
