/* SPDX-License-Identifier: BSD-2-Clause */
/* Random programs with the Intel PT of a random run and the addresses really executed. */
#ifndef TESTS_UNIT_RANDOM_FLOW_H
#define TESTS_UNIT_RANDOM_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "flow/engine/flow.h"
#include "format/pt/encode.h"
#include "tests/unit/pt_random.h"
#include "tests/unit/random_seeds.h"

#define RANDOM_FLOW_BLOCKS 400
#define RANDOM_FLOW_CODE (1u << 16)
#define RANDOM_FLOW_PT (1u << 20)
#define RANDOM_FLOW_TRUTH (1u << 19)
#define RANDOM_FLOW_STACK 64
#define RANDOM_FLOW_SEGMENTS 4096
#define RANDOM_FLOW_RANGES 64      /* maximal number of separate ranges of code */
#define RANDOM_FLOW_APART 0x10000u /* minimal distance between the starts of two ranges */

/* Features of a run besides branches, calls, returns, interrupts, overflows, filters and PSBs. */
#define FLOW_FORMS 1u     /* addresses in any valid form, not only the shortest */
#define FLOW_TIMING 2u    /* TSC, TMA, MTC, CYC, CBR, padding, MNT anywhere */
#define FLOW_EVENTS 4u    /* PTWRITE, TSX, power, PIP, VMCS, MODE.Exec; overflows of all kinds */
#define FLOW_DEFERRED 8u  /* TIPs behind the TNT bits of later branches */
#define FLOW_32 16u       /* 32-bit code */
#define FLOW_RESTART 32u  /* overflows up to a PSB */
#define FLOW_MODERN 64u   /* event trace, blocks, triggers; unknown to libipt */
#define FLOW_CLOCK 128u   /* TSC packets, some in PSB+, with the true time */
#define FLOW_CHANGES 256u /* the code changes under way: random_changes.h */
#define FLOW_POPS 512u    /* a return to an unexpected place also pops the newest call; unknown to libipt */
#define FLOW_TURNS 1024u  /* programs take turns on a CPU: random_flow_turn */
#define FLOW_ALL 63u      /* features known to all engines */
#define FLOW_DEFERRED_MAX 4

/* Events of a run, as reported by an engine. */
struct random_counts {
	unsigned ptwrites, transactions, exstops, mwaits, pagings, vmcs, modes, cbrs, powers, modern;
};

enum random_end { END_JCC, END_JMP, END_CALL, END_RET, END_JMP_REG, END_CALL_REG, END_SYSCALL, END_KINDS };

struct random_block {
	uint32_t start; /* offset in the code */
	uint32_t last;  /* offset of the last instruction */
	uint32_t end;
	uint32_t target; /* target of a direct branch */
	enum random_end kind;
};

struct random_changes;

/* A program, a run, and the encoder's state. About 10 MiB: too large for the stack. */
struct random_flow {
	struct pt_random random;
	struct pt_random more; /* randomness for features; a run without features is unaffected */
	unsigned features;
	unsigned mode; /* 64 or 32 */
	struct random_counts counts;
	bool in_transaction;
	bool ptwrite;     /* PTWRITE instructions make packets */
	bool ptwrite_fup; /* PTW packets have a FUP */
	uint32_t deferred[FLOW_DEFERRED_MAX];
	unsigned deferred_count;
	size_t deferred_proven; /* instructions proven by the deferred packets, once sent */
	uint64_t base;
	bool return_compression;
	bool long_tnt;

	struct random_changes *changes; /* NULL: constant code */
	void (*change)(struct random_flow *flow,
		       uint32_t ip); /* changes code away from the flow, before the instruction at ip */

	uint8_t first_code[RANDOM_FLOW_CODE]; /* code before any change */
	uint8_t code[RANDOM_FLOW_CODE];
	uint32_t code_size;
	struct random_block blocks[RANDOM_FLOW_BLOCKS];
	uint32_t ranges[RANDOM_FLOW_RANGES]; /* code offset of each range's first byte */
	unsigned range_count;
	uint8_t lengths[RANDOM_FLOW_CODE]; /* length of the instruction at an offset; 0: no instruction starts there */

	uint8_t pt[RANDOM_FLOW_PT + 64];
	size_t pt_size;
	uint64_t truth[RANDOM_FLOW_TRUTH];
	uint64_t times[RANDOM_FLOW_TRUTH]; /* time of each address */
	uint64_t clock;
	size_t truth_count;
	size_t proven;                                /* number of addresses in truth proven by packets so far */
	uint64_t segment_clock[RANDOM_FLOW_SEGMENTS]; /* clock at the PSBs of the first segments */
	unsigned segments, enables, asyncs, overflows;

	uint64_t tnt; /* below a stop bit */
	uint64_t last_ip;
	uint64_t cpu_stack[RANDOM_FLOW_STACK];
	unsigned cpu_top, cpu_count;
	uint32_t stack[256]; /* return addresses on the program's stack, as offsets */
	unsigned depth;
	bool away; /* packets are disabled, and another program may run */
};

void random_count(struct random_counts *counts, uint8_t kind);
bool random_flow_has(const struct random_flow *flow, unsigned feature);
/* Returns the address of a code offset. */
uint64_t random_flow_address(const struct random_flow *flow, uint32_t offset);
/* Runs the program from ip, where packets are disabled, to the next disabled place, and returns its offset. */
uint32_t random_flow_turn(struct random_flow *flow, uint32_t ip);
/*
 * Makes the program with its code in `ranges` ranges (1 to RANDOM_FLOW_RANGES), and runs it for about `steps`
 * instructions. The result depends on the arguments only. features: FLOW_*.
 */
void random_flow_make_with(struct random_flow *flow, uint64_t seed, size_t steps, unsigned ranges, unsigned features);
/* As random_flow_make_with without features; used by benchmarks. */
void random_flow_make_apart(struct random_flow *flow, uint64_t seed, size_t steps, unsigned ranges);
void random_flow_make(struct random_flow *flow, uint64_t seed, size_t steps);

#endif
