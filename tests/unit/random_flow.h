/* SPDX-License-Identifier: BSD-2-Clause */
/* Random programs with the Intel PT of a random run of them, and the addresses that the run really executed. */
#ifndef TESTS_UNIT_RANDOM_FLOW_H
#define TESTS_UNIT_RANDOM_FLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "flow/engine/flow.h"
#include "format/pt/encode.h"
#include "format/pt/last_ip.h"
#include "tests/unit/pt_random.h"

#define RANDOM_FLOW_BLOCKS 400
#define RANDOM_FLOW_CODE (1u << 16)
#define RANDOM_FLOW_PT (1u << 20)
#define RANDOM_FLOW_TRUTH (1u << 19)
#define RANDOM_FLOW_STACK 64
#define RANDOM_FLOW_SEGMENTS 4096
#define RANDOM_FLOW_RANGES 64      /* where the code lies in separate ranges */
#define RANDOM_FLOW_APART 0x10000u /* address space from one range's start to the next one's, at least */

/* What a run may have besides branches, calls, returns, interrupts, overflows, filters and PSBs. */
#define FLOW_FORMS 1u     /* addresses in any form that fits, not only the shortest */
#define FLOW_TIMING 2u    /* TSC, TMA, MTC, CYC, CBR, padding, MNT anywhere */
#define FLOW_EVENTS 4u    /* PTWRITE, TSX, power, PIP, VMCS, MODE.Exec; overflows of all kinds */
#define FLOW_DEFERRED 8u  /* TIPs behind the TNT bits of later branches */
#define FLOW_32 16u       /* programs of 32-bit code */
#define FLOW_RESTART 32u  /* overflows that last to a PSB */
#define FLOW_MODERN 64u   /* event trace, blocks, triggers: libipt does not know them */
#define FLOW_CLOCK 128u   /* TSC packets, some in PSB+, with the true time */
#define FLOW_CHANGES 256u /* the code changes under way: random_changes.h */
#define FLOW_POPS                                                                                                      \
	512u /* a return to another place than the newest call takes that call off all the same, which libipt does not know */
#define FLOW_TURNS 1024u /* programs take turns on a CPU: random_flow_turn */
#define FLOW_ALL 63u     /* what all engines know */
#define FLOW_DEFERRED_MAX 4

/* Events of a run, as engines have to give them. */
struct random_counts {
	unsigned ptwrites, transactions, exstops, mwaits, pagings, vmcs, modes, cbrs, powers, modern;
};

static inline void random_count(struct random_counts *counts, uint8_t kind)
{
	counts->ptwrites += kind == FLOW_PTWRITE;
	counts->transactions += kind == FLOW_TSX;
	counts->exstops += kind == FLOW_EXSTOP;
	counts->mwaits += kind == FLOW_MWAIT;
	counts->pagings += kind == FLOW_PAGING;
	counts->vmcs += kind == FLOW_VMCS;
	counts->modes += kind == FLOW_EXEC_MODE;
	counts->cbrs += kind == FLOW_CBR;
	counts->powers += kind == FLOW_POWER_ENTRY || kind == FLOW_POWER_EXIT;
	counts->modern += kind == FLOW_CONTROL || kind == FLOW_EVENT_DATA || kind == FLOW_BLOCK_ITEM ||
			  kind == FLOW_TRIGGER;
}

enum random_end { END_JCC, END_JMP, END_CALL, END_RET, END_JMP_REG, END_CALL_REG, END_SYSCALL, END_KINDS };

struct random_block {
	uint32_t start; /* offset in the code */
	uint32_t last;  /* of its last instruction */
	uint32_t end;
	uint32_t target; /* of a direct branch */
	enum random_end kind;
};

struct random_changes;

/* A program, one run of it, and the encoder's state. About 10 MiB: not for the stack. */
struct random_flow {
	struct pt_random random;
	struct pt_random more; /* of what features add: without them, the run is the same */
	unsigned features;
	unsigned mode; /* 64 or 32 */
	struct random_counts counts;
	bool in_transaction;
	bool ptwrite;     /* PTWRITE makes packets */
	bool ptwrite_fup; /* with a FUP */
	uint32_t deferred[FLOW_DEFERRED_MAX];
	unsigned deferred_count;
	size_t deferred_proven; /* of truth: what they report, once they are sent */
	uint64_t base;
	bool return_compression;
	bool long_tnt;

	struct random_changes *changes; /* NULL: code stays what it is */
	void (*change)(struct random_flow *flow,
		       uint32_t ip); /* writes other code where flow is not, before the instruction at ip */

	uint8_t first_code[RANDOM_FLOW_CODE]; /* where it changes: before it did */
	uint8_t code[RANDOM_FLOW_CODE];
	uint32_t code_size;
	struct random_block blocks[RANDOM_FLOW_BLOCKS];
	uint32_t ranges[RANDOM_FLOW_RANGES]; /* offset in the code of each range's first byte */
	unsigned range_count;
	uint8_t lengths[RANDOM_FLOW_CODE]; /* of the instruction at an offset; 0: none starts there */

	uint8_t pt[RANDOM_FLOW_PT + 64];
	size_t pt_size;
	uint64_t truth[RANDOM_FLOW_TRUTH];
	uint64_t times[RANDOM_FLOW_TRUTH]; /* of each of them */
	uint64_t clock;
	size_t truth_count;
	size_t proven;                                /* of truth: what the packets so far report */
	uint64_t segment_clock[RANDOM_FLOW_SEGMENTS]; /* of the first segments' PSBs */
	unsigned segments, enables, asyncs, overflows;

	uint64_t tnt; /* below a stop bit */
	uint64_t last_ip;
	uint64_t cpu_stack[RANDOM_FLOW_STACK];
	unsigned cpu_top, cpu_count;
	uint32_t stack[256]; /* the program's own, as offsets */
	unsigned depth;
	bool away; /* packets are disabled, and another program may run */
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

/* The same of 32-bit code. */
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

static const uint8_t random_ptwrite[4] = {0xf3, 0x0f, 0xae, 0xe0};

static inline bool flow_has(const struct random_flow *flow, unsigned feature)
{
	return flow->features & feature;
}

/* One time in `times`; no randomness is used up without the feature. */
static inline bool flow_chance(struct random_flow *flow, unsigned feature, unsigned times)
{
	return flow_has(flow, feature) && pt_random_below(&flow->more, times) == 0;
}

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
		[END_JCC] = {6, {0x0f, 0x84}},     [END_JMP] = {5, {0xe9}},
		[END_CALL] = {5, {0xe8}},          [END_RET] = {1, {0xc3}},
		[END_JMP_REG] = {2, {0xff, 0xe0}}, [END_CALL_REG] = {2, {0xff, 0xd1}},
		[END_SYSCALL] = {2, {0x0f, 0x05}},
	};
	static const uint8_t interrupt[2] = {0xcd, 0x80};

	if (kind == END_SYSCALL && flow->mode == 32)
		flow_emit(flow, interrupt, sizeof(interrupt));
	else
		flow_emit(flow, ends[kind].bytes, ends[kind].size);
}

static inline void flow_emit_filler(struct random_flow *flow)
{
	size_t filler;

	if (flow_chance(flow, FLOW_EVENTS, 40)) {
		flow_emit(flow, random_ptwrite, sizeof(random_ptwrite));
	} else if (flow->mode == 32) {
		filler = pt_random_below(&flow->random, sizeof(random_fillers_32) / sizeof(random_fillers_32[0]));
		flow_emit(flow, random_fillers_32[filler].bytes, random_fillers_32[filler].size);
	} else {
		filler = pt_random_below(&flow->random, sizeof(random_fillers) / sizeof(random_fillers[0]));
		flow_emit(flow, random_fillers[filler].bytes, random_fillers[filler].size);
	}
}

/* Chooses where the branch at the end of block i leads, if it is a direct one. */
static inline void flow_aim(struct random_flow *flow, unsigned i, struct pt_random *random)
{
	struct random_block *block = &flow->blocks[i];
	/* Direct jumps and calls lead forward, so that no loop is without a packet. */
	unsigned least = block->kind == END_JCC ? 0 : i + 1;
	unsigned target;

	if (block->kind != END_JCC && block->kind != END_JMP && block->kind != END_CALL)
		return;
	target = least + (unsigned)pt_random_below(random, RANDOM_FLOW_BLOCKS - least);
	/* Now and then a call of the next instruction, which pushes nothing in the CPU's eyes. */
	if (block->kind == END_CALL && pt_random_below(random, 8) == 0)
		target = i + 1;
	block->target = flow->blocks[target].start;
	common_store32(flow->code + block->end - 4,
		       (uint32_t)(flow_address(flow, block->target) - (flow_address(flow, block->end - 1) + 1)));
}

static inline void flow_make_code(struct random_flow *flow)
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
			flow_emit_filler(flow);
		/* The last block of a range must not fall through. */
		block->kind = last ? END_JMP_REG : weights[pt_random_below(&flow->random, sizeof(weights))];
		block->last = flow->code_size;
		flow_emit_end(flow, block->kind);
		block->end = flow->code_size;
	}
	for (unsigned i = 0; i < RANDOM_FLOW_BLOCKS; i++)
		flow_aim(flow, i, &flow->random);
}

static inline uint8_t *flow_at(struct random_flow *flow)
{
	return flow->pt + flow->pt_size;
}

/* A packet with an address: in the shortest form, or in any other that gives the address. */
static inline void flow_put_ip(struct random_flow *flow, unsigned match, uint64_t ip)
{
	static const uint8_t forms[] = {PTL_PT_IP_UPDATE_16, PTL_PT_IP_UPDATE_32, PTL_PT_IP_SIGN_48,
					PTL_PT_IP_UPDATE_48, PTL_PT_IP_FULL};
	unsigned form = forms[flow_has(flow, FLOW_FORMS) ? pt_random_below(&flow->more, sizeof(forms)) : 0];
	uint64_t payload = ip & ~0ull >> (64 - 8 * format_pt_ip_size(form));

	if (!flow_has(flow, FLOW_FORMS) || format_pt_ip_expand(flow->last_ip, form, payload) != ip) {
		flow->pt_size += format_pt_put_ip(flow_at(flow), match, &flow->last_ip, ip);
		return;
	}
	flow->pt_size += format_pt_put_ip_form(flow_at(flow), match, form, payload);
	flow->last_ip = ip;
}

static inline void flow_put_fup(struct random_flow *flow, uint32_t ip)
{
	flow_put_ip(flow, FORMAT_PT_MATCH_FUP, flow_address(flow, ip));
}

/* TNT, and the TIPs that were deferred behind it. */
static inline void flow_flush(struct random_flow *flow)
{
	if (flow->tnt > 1)
		flow->pt_size += format_pt_put_tnt(flow_at(flow), flow->tnt);
	flow->tnt = 1;
	for (unsigned i = 0; i < flow->deferred_count; i++)
		flow_put_ip(flow, FORMAT_PT_MATCH_TIP, flow_address(flow, flow->deferred[i]));
	if (flow->deferred_count && flow->proven < flow->deferred_proven)
		flow->proven = flow->deferred_proven;
	flow->deferred_count = 0;
}

static inline void flow_put(struct random_flow *flow, const struct ptl_pt_packet *packet)
{
	int size = ptl_pt_encode(packet, flow_at(flow), PTL_PT_PACKET_MAX);

	if (size < 0)
		abort();
	flow->pt_size += (size_t)size;
}

#define FLOW_PUT(flow, packet_kind, ...) flow_put(flow, &(struct ptl_pt_packet){.kind = packet_kind, ##__VA_ARGS__})

static inline uint64_t flow_value(struct random_flow *flow, unsigned bits)
{
	return pt_random_bits(&flow->more, bits);
}

static inline void flow_put_power(struct random_flow *flow)
{
	FLOW_PUT(flow, PTL_PT_PWRE, .pwre = {.state = (uint8_t)flow_value(flow, 4)});
	FLOW_PUT(flow, PTL_PT_PWRX, .pwrx = {.last = (uint8_t)flow_value(flow, 4), .wake = 1});
	flow->counts.powers += 2;
}

/* Packets that may stand anywhere, and say nothing of the flow. */
static inline void flow_noise(struct random_flow *flow)
{
	switch (pt_random_below(&flow->more, 8)) {
	case 0:
		for (uint64_t count = pt_random_below(&flow->more, 20); count; count--)
			FLOW_PUT(flow, PTL_PT_PAD);
		break;
	case 1:
		FLOW_PUT(flow, PTL_PT_TSC, .tsc = {flow_has(flow, FLOW_CLOCK) ? flow->clock : flow_value(flow, 40)});
		FLOW_PUT(flow, PTL_PT_TMA, .tma = {.ctc = (uint16_t)flow_value(flow, 16), .fast = 3});
		break;
	case 2:
		FLOW_PUT(flow, PTL_PT_TSC, .tsc = {flow_has(flow, FLOW_CLOCK) ? flow->clock : flow_value(flow, 40)});
		break;
	case 3:
		FLOW_PUT(flow, PTL_PT_MTC, .mtc = {(uint8_t)flow_value(flow, 8)});
		break;
	case 4:
		FLOW_PUT(flow, PTL_PT_CYC, .cyc = {flow_value(flow, 20)});
		break;
	case 5:
		FLOW_PUT(flow, PTL_PT_MNT, .mnt = {flow_value(flow, 64)});
		break;
	case 6:
		FLOW_PUT(flow, PTL_PT_CBR, .cbr = {(uint8_t)(1 + flow_value(flow, 7))});
		flow->counts.cbrs++;
		break;
	default:
		if (flow_has(flow, FLOW_EVENTS))
			flow_put_power(flow);
	}
}

static inline void flow_bit(struct random_flow *flow, bool taken)
{
	unsigned limit = flow->long_tnt ? FORMAT_PT_TNT_64_MAX : FORMAT_PT_TNT_8_MAX;

	flow->tnt = flow->tnt << 1 | taken;
	flow->proven = flow->truth_count;
	if (flow->tnt >> limit || pt_random_below(&flow->random, 40) == 0)
		flow_flush(flow);
}

static inline void flow_psb(struct random_flow *flow, bool enabled, uint32_t ip)
{
	flow_flush(flow);
	if (flow->segments < RANDOM_FLOW_SEGMENTS)
		flow->segment_clock[flow->segments] = flow->clock;
	flow->pt_size += format_pt_put_psb(flow_at(flow));
	flow->last_ip = 0;
	flow->cpu_count = 0;
	flow->pt_size += format_pt_put_cbr(flow_at(flow), 10);
	flow->pt_size += format_pt_put_mode_exec(flow_at(flow), flow->mode == 64, flow->mode == 32, true);
	if (flow_has(flow, FLOW_CLOCK))
		FLOW_PUT(flow, PTL_PT_TSC, .tsc = {flow->clock});
	if (flow_has(flow, FLOW_EVENTS))
		flow->pt_size += format_pt_put_mode_tsx(flow_at(flow), flow->in_transaction, false);
	if (enabled)
		flow_put_fup(flow, ip);
	flow->pt_size += format_pt_put_psbend(flow_at(flow));
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
	if (flow->tnt > 1 && flow->deferred_count < FLOW_DEFERRED_MAX && flow_chance(flow, FLOW_DEFERRED, 2)) {
		flow->deferred[flow->deferred_count++] = ip;
		flow->deferred_proven = flow->truth_count;
		return;
	}
	flow_flush(flow);
	flow_put_ip(flow, FORMAT_PT_MATCH_TIP, flow_address(flow, ip));
	flow->proven = flow->truth_count;
}

/*
 * Takes the newest call off the CPU's stack; whether it is the one at `to`. If not, the CPU may as well have forgotten its
 * calls: then it makes no difference to a decoder whether it takes one off there.
 */
static inline bool flow_pop(struct random_flow *flow, uint32_t to)
{
	bool expected;

	if (!flow->cpu_count)
		return false;
	expected = flow->cpu_stack[--flow->cpu_top % RANDOM_FLOW_STACK] == flow_address(flow, to);
	flow->cpu_count--;
	if (!expected && !flow_has(flow, FLOW_POPS))
		flow->cpu_count = 0;
	return expected;
}

/* A return to the newest caller, or by a forged address somewhere else. */
static inline uint32_t flow_return(struct random_flow *flow)
{
	bool honest = flow->depth && pt_random_below(&flow->random, 16);
	uint32_t to = honest ? flow->stack[--flow->depth] : flow_anywhere(flow);

	if (flow->return_compression && flow_pop(flow, to)) {
		flow_bit(flow, true);
	} else {
		/* Behind TNT bits it would look compressed, so it is never deferred. */
		flow_flush(flow);
		flow_tip(flow, to);
	}
	return to;
}

static inline void flow_put_paging(struct random_flow *flow)
{
	FLOW_PUT(flow, PTL_PT_PIP, .pip = {.cr3 = flow_value(flow, 40) << 12});
	flow->counts.pagings++;
}

static inline void flow_put_vmcs(struct random_flow *flow)
{
	FLOW_PUT(flow, PTL_PT_VMCS, .vmcs = {flow_value(flow, 40) << 12});
	flow->counts.vmcs++;
}

static inline void flow_put_mode(struct random_flow *flow)
{
	flow->pt_size += format_pt_put_mode_exec(flow_at(flow), flow->mode == 64, flow->mode == 32, false);
	flow->counts.modes++;
}

static inline void flow_put_exstop(struct random_flow *flow, uint32_t ip)
{
	FLOW_PUT(flow, PTL_PT_EXSTOP, .exstop = {.ip = 1});
	flow_put_fup(flow, ip);
	flow->counts.exstops++;
}

static inline void flow_put_ptwrite(struct random_flow *flow, bool fup, uint32_t ip)
{
	FLOW_PUT(flow, PTL_PT_PTWRITE, .ptwrite = {.payload = flow_value(flow, 32), .bytes = 4, .ip = fup});
	if (fup)
		flow_put_fup(flow, ip);
	flow->counts.ptwrites++;
}

static inline void flow_put_transaction(struct random_flow *flow, bool in_transaction, bool abort)
{
	flow->pt_size += format_pt_put_mode_tsx(flow_at(flow), in_transaction, abort);
	flow->in_transaction = in_transaction;
	flow->counts.transactions++;
}

/* What libipt does not know, before the instruction at ip. Whether there was a FUP. */
static inline bool flow_modern(struct random_flow *flow, uint32_t ip)
{
	bool fup = pt_random_below(&flow->more, 2);
	unsigned items = 0;

	flow_flush(flow);
	switch (pt_random_below(&flow->more, 3)) {
	case 0: /* bound to nothing, or to its own FUP */
		FLOW_PUT(flow, PTL_PT_EVD, .evd = {.payload = flow_value(flow, 64), .type = 2});
		FLOW_PUT(flow, PTL_PT_CFE, .cfe = {.type = FLOW_CONTROL_VM_ENTRY, .ip = fup});
		flow->counts.modern += 2;
		break;
	case 1:
		FLOW_PUT(flow, PTL_PT_BBP, .bbp = {.type = 4, .bip_bytes = 8});
		for (items = 1 + (unsigned)pt_random_below(&flow->more, 6); items; items--) {
			FLOW_PUT(flow, PTL_PT_BIP, .bip = {.payload = flow_value(flow, 64), .id = 3, .bytes = 8});
			flow->counts.modern++;
		}
		FLOW_PUT(flow, PTL_PT_BEP, .bep = {.ip = fup});
		break;
	default:
		FLOW_PUT(flow, PTL_PT_TRIG, .trig = {.triggers = 1, .ip = fup, .has_count = fup});
		flow->counts.modern++;
	}
	if (fup)
		flow_put_fup(flow, ip);
	return fup;
}

/* What comes while packets are disabled. */
static inline void flow_disabled(struct random_flow *flow, uint32_t ip)
{
	switch (pt_random_below(&flow->more, 6)) {
	case 0:
		flow_put_transaction(flow, !flow->in_transaction, false);
		break;
	case 1:
		flow_put_vmcs(flow);
		flow_put_paging(flow);
		break;
	case 2:
		flow_put_exstop(flow, ip);
		break;
	case 3:
		flow_put_ptwrite(flow, pt_random_below(&flow->more, 2), ip);
		break;
	case 4:
		flow_put_mode(flow);
		break;
	default:
		flow_noise(flow);
		if (flow_has(flow, FLOW_MODERN))
			flow_modern(flow, ip);
	}
}

/* TIP.PGD and, later, TIP.PGE; returns where. */
static inline uint32_t flow_leave(struct random_flow *flow, bool with_ip, uint32_t resume)
{
	flow_flush(flow);
	if (flow_has(flow, FLOW_TURNS))
		FLOW_PUT(flow, PTL_PT_TSC, .tsc = {++flow->clock});
	if (with_ip)
		flow_put_ip(flow, FORMAT_PT_MATCH_TIP_PGD, flow->base - 64);
	else
		flow->pt_size += format_pt_put_tip_pgd_no_ip(flow_at(flow));
	flow->proven = flow->truth_count;
	if (pt_random_below(&flow->random, 16) == 0)
		flow_psb(flow, false, 0);
	if (flow_chance(flow, FLOW_EVENTS, 4))
		flow_disabled(flow, resume);
	flow->away = flow_has(flow, FLOW_TURNS);
	if (flow->away)
		return resume;
	flow_put_ip(flow, FORMAT_PT_MATCH_TIP_PGE, flow_address(flow, resume));
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
		flow_put_fup(flow, ip);
		flow->asyncs++;
		flow_tip(flow, to);
		return to;
	case 2: /* one that does not */
		flow_put_fup(flow, ip);
		flow->asyncs++;
		return flow_leave(flow, pt_random_below(&flow->random, 2), pt_random_below(&flow->random, 2) ? ip : to);
	default: /* an overflow: what no packet proves is lost */
		flow->truth_count = flow->proven;
		flow->pt_size += format_pt_put_ovf(flow_at(flow));
		/* The decoder has not seen the calls that were lost. */
		flow->cpu_count = 0;
		flow->last_ip = 0;
		flow_put_fup(flow, to);
		flow->overflows++;
		return to;
	}
}

/* What no packet proves is lost, and with it the calls in it. */
static inline uint32_t flow_overflow(struct random_flow *flow)
{
	uint32_t to = flow_anywhere(flow);

	flow->truth_count = flow->proven;
	flow->pt_size += format_pt_put_ovf(flow_at(flow));
	flow->cpu_count = 0;
	flow->last_ip = 0;
	flow->in_transaction = false;
	flow->overflows++;
	switch (pt_random_below(&flow->more, 5)) {
	case 0: /* another one */
		flow->overflows++;
		flow->pt_size += format_pt_put_ovf(flow_at(flow));
		flow_put_fup(flow, to);
		break;
	case 1: /* packets are disabled when it ends */
		if (pt_random_below(&flow->more, 2))
			flow_disabled(flow, to);
		flow_put_ip(flow, FORMAT_PT_MATCH_TIP_PGE, flow_address(flow, to));
		flow->enables++;
		break;
	case 2: /* it ends with a PSB */
		if (flow_has(flow, FLOW_RESTART)) {
			flow_psb(flow, true, to);
			break;
		}
		__attribute__((fallthrough));
	default:
		FLOW_PUT(flow, PTL_PT_MTC, .mtc = {3});
		flow_put_fup(flow, to);
	}
	return to;
}

/* A far transfer by TIP, which may change the page table and the mode. */
static inline uint32_t flow_far(struct random_flow *flow)
{
	uint32_t to = flow_anywhere(flow);

	flow_flush(flow);
	if (pt_random_below(&flow->more, 2))
		flow_put_paging(flow);
	if (pt_random_below(&flow->more, 2))
		flow_put_mode(flow);
	flow_put_ip(flow, FORMAT_PT_MATCH_TIP, flow_address(flow, to));
	flow->proven = flow->truth_count;
	return to;
}

/* An interrupt that changes more than the flow. */
static inline uint32_t flow_interrupt(struct random_flow *flow, uint32_t ip)
{
	flow_put_fup(flow, ip);
	flow->asyncs++;
	if (pt_random_below(&flow->more, 2))
		flow_put_vmcs(flow);
	if (pt_random_below(&flow->more, 2))
		flow_put_paging(flow);
	if (pt_random_below(&flow->more, 2))
		flow_put_mode(flow);
	ip = flow_anywhere(flow);
	flow_put_ip(flow, FORMAT_PT_MATCH_TIP, flow_address(flow, ip));
	return ip;
}

/* Events before the instruction at ip; returns where flow goes on. */
static inline uint32_t flow_event(struct random_flow *flow, uint32_t ip)
{
	unsigned kind = (unsigned)pt_random_below(&flow->more, 6);

	flow_flush(flow);
	if (kind == 5)
		return flow_overflow(flow);
	/* Its address proves what was executed before. */
	flow->proven = flow->truth_count;
	switch (kind) {
	case 0:
		flow_put_transaction(flow, !flow->in_transaction, false);
		flow_put_fup(flow, ip);
		return ip;
	case 1:
		flow_put_transaction(flow, false, true);
		flow_put_fup(flow, ip);
		flow->asyncs++;
		ip = flow_anywhere(flow);
		flow_put_ip(flow, FORMAT_PT_MATCH_TIP, flow_address(flow, ip));
		return ip;
	case 2:
		flow_put_exstop(flow, ip);
		return ip;
	case 3:
		FLOW_PUT(flow, PTL_PT_MWAIT, .mwait = {.hints = 0x20});
		flow->counts.mwaits++;
		flow_put_power(flow);
		flow_put_exstop(flow, ip);
		return ip;
	default:
		return flow_interrupt(flow, ip);
	}
}

/* PTWRITE at ip was executed. */
static inline void flow_ptwrite(struct random_flow *flow, uint32_t ip)
{
	flow_flush(flow);
	flow_put_ptwrite(flow, flow->ptwrite_fup, ip);
	flow->proven = flow->truth_count;
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
		return flow_chance(flow, FLOW_EVENTS, 3) ? flow_far(flow) : flow_leave(flow, false, block->end);
	default:
		if (pt_random_below(&flow->random, 8) == 0)
			return flow_leave(flow, true, to);
		flow_tip(flow, to);
		return to;
	}
}

/* Before the instruction at ip: whatever may happen there. False: nothing that changes where flow goes on. */
static inline bool flow_happens(struct random_flow *flow, uint32_t *ip)
{
	if (flow_chance(flow, FLOW_CLOCK, 60))
		FLOW_PUT(flow, PTL_PT_TSC, .tsc = {flow->clock});
	if (flow_chance(flow, FLOW_CHANGES, 150))
		flow->change(flow, *ip);
	if (flow_chance(flow, FLOW_TIMING, 50))
		flow_noise(flow);
	if (flow_chance(flow, FLOW_MODERN, 300) && flow_modern(flow, *ip))
		flow->proven = flow->truth_count;
	if (flow_chance(flow, FLOW_EVENTS, 400))
		*ip = flow_event(flow, *ip);
	else if (pt_random_below(&flow->random, 400) == 0)
		*ip = flow_disturb(flow, *ip);
	else
		return false;
	return true;
}

/* The program of a seed, its code in this many ranges, before it runs. */
static inline void random_flow_begin(struct random_flow *flow, uint64_t seed, unsigned ranges, unsigned features)
{
	memset(flow, 0, sizeof(*flow));
	flow->random = pt_random(seed);
	flow->more = pt_random(seed ^ 0x5bd1e995);
	flow->features = features;
	flow->mode = flow_chance(flow, FLOW_32, 4) ? 32 : 64;
	flow->ptwrite = flow_chance(flow, FLOW_EVENTS, 2);
	flow->ptwrite_fup = flow_chance(flow, FLOW_EVENTS, 2);
	/* Not every run has everything, so that each feature also meets few others. */
	if (features)
		flow->features &= (unsigned)pt_random_next(&flow->more) | (unsigned)pt_random_next(&flow->more);
	flow->range_count = ranges;
	flow->base = pt_random_below(&flow->random, 2) ? 0x400000 : flow->mode == 32 ? 0xf7810000 : 0x7ffff7810000ull;
	flow->return_compression = pt_random_below(&flow->random, 4);
	flow->long_tnt = pt_random_below(&flow->random, 2);
	flow->tnt = 1;
	flow->clock = 1000;
	flow_make_code(flow);
}

/* Executes the instruction at ip; returns the next one. */
static inline uint32_t flow_step(struct random_flow *flow, uint32_t ip)
{
	const struct random_block *block = flow_block(flow, ip);

	flow->times[flow->truth_count] = flow->clock;
	flow->truth[flow->truth_count++] = flow_address(flow, ip);
	flow->clock += 1 + flow->lengths[ip];
	if (ip == block->last)
		return flow_branch(flow, block);
	if (flow->ptwrite && !memcmp(flow->code + ip, random_ptwrite, sizeof(random_ptwrite)))
		flow_ptwrite(flow, ip);
	return ip + flow->lengths[ip];
}

/* Runs it for about `steps` instructions. */
static inline void random_flow_run(struct random_flow *flow, size_t steps)
{
	uint32_t ip = flow_anywhere(flow);

	flow_psb(flow, true, ip);
	while (flow->truth_count < steps && flow->pt_size < RANDOM_FLOW_PT - 1024) {
		/* The last packet is one of flow: what comes behind it the libipt engines leave out. */
		if (flow->truth_count + 300 < steps && flow_happens(flow, &ip))
			continue;
		ip = flow_step(flow, ip);
	}
	flow_flush(flow);
	flow->truth_count = flow->proven;
}

/* Runs it from ip, where packets are disabled, to where they are again; returns that. */
static inline uint32_t random_flow_turn(struct random_flow *flow, uint32_t ip)
{
	flow->away = false;
	flow_put_ip(flow, FORMAT_PT_MATCH_TIP_PGE, flow_address(flow, ip));
	flow->enables++;
	FLOW_PUT(flow, PTL_PT_TSC, .tsc = {++flow->clock});
	while (!flow->away)
		if (!flow_happens(flow, &ip))
			ip = flow_step(flow, ip);
	return ip;
}

/*
 * Makes the program, its code in this many ranges (1 to RANDOM_FLOW_RANGES), and runs it for about `steps`
 * instructions; seed gives the same one everywhere. features are FLOW_*.
 */
static inline void random_flow_make_with(struct random_flow *flow, uint64_t seed, size_t steps, unsigned ranges,
					 unsigned features)
{
	random_flow_begin(flow, seed, ranges, features);
	random_flow_run(flow, steps);
}

/*
 * Seeds of a test, one after the other, from PTL_RANDOM_FIRST (1) on: `usual` of them, or as many as PTL_RANDOM_PROGRAMS says, or
 * as many as PTL_RANDOM_SECONDS of CPU time allow. One that fails is printed.
 */
struct random_seeds {
	uint64_t seed; /* at hand; 0: none */
	uint64_t next, left;
	clock_t until; /* 0: no limit */
};

static inline struct random_seeds random_flow_seeds(uint64_t usual)
{
	const char *count = getenv("PTL_RANDOM_PROGRAMS"), *first = getenv("PTL_RANDOM_FIRST");
	const char *seconds = getenv("PTL_RANDOM_SECONDS");
	struct random_seeds seeds = {.next = first ? strtoull(first, NULL, 0) : 1, .left = usual};

	if (count)
		seeds.left = strtoull(count, NULL, 0);
	else if (seconds)
		seeds.left = UINT64_MAX;
	if (seconds)
		seeds.until = clock() + (clock_t)strtoull(seconds, NULL, 0) * CLOCKS_PER_SEC;
	return seeds;
}

/* Goes on to the next seed; false: all are done. */
static inline bool random_flow_next(struct random_seeds *seeds)
{
	bool more = seeds->left && (!seeds->until || clock() < seeds->until);

	seeds->left -= more;
	seeds->seed = more ? seeds->next++ : 0;
	return more;
}

/* At the end of the program: a test that has a seed at hand was left by a failed assertion. Does nothing otherwise. */
static inline void random_flow_report(const struct random_seeds *seeds)
{
	if (seeds->seed)
		fprintf(stderr, "to repeat it: PTL_RANDOM_FIRST=%llu PTL_RANDOM_PROGRAMS=1\n",
			(unsigned long long)seeds->seed);
}

/* Without features: what benchmarks run. */
static inline void random_flow_make_apart(struct random_flow *flow, uint64_t seed, size_t steps, unsigned ranges)
{
	random_flow_make_with(flow, seed, steps, ranges, 0);
}

static inline void random_flow_make(struct random_flow *flow, uint64_t seed, size_t steps)
{
	random_flow_make_with(flow, seed, steps, 1, FLOW_ALL);
}

#endif
