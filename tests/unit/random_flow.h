/* SPDX-License-Identifier: BSD-2-Clause */
/* Random programs with the Intel PT of a random run of them, and the addresses that the run really executed. */
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
	size_t proven;                                /* of truth: what the packets so far prove */
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

void random_count(struct random_counts *counts, uint8_t kind);
bool random_flow_has(const struct random_flow *flow, unsigned feature);
/* The address of the byte at an offset of the code. */
uint64_t random_flow_address(const struct random_flow *flow, uint32_t offset);
/* Runs it from ip, where packets are disabled, to where they are again; returns that. */
uint32_t random_flow_turn(struct random_flow *flow, uint32_t ip);
/*
 * Makes the program, its code in this many ranges (1 to RANDOM_FLOW_RANGES), and runs it for about `steps`
 * instructions; seed gives the same one everywhere. features are FLOW_*.
 */
void random_flow_make_with(struct random_flow *flow, uint64_t seed, size_t steps, unsigned ranges, unsigned features);
/* Without features: what benchmarks run. */
void random_flow_make_apart(struct random_flow *flow, uint64_t seed, size_t steps, unsigned ranges);
void random_flow_make(struct random_flow *flow, uint64_t seed, size_t steps);

#endif
