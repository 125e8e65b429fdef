/* SPDX-License-Identifier: BSD-2-Clause */
/* How long the calls of a function took: how they are spread, by whom they came, the slowest, and what the time went to. */
#ifndef DUMP_CALL_CALL_LATENCY_H
#define DUMP_CALL_CALL_LATENCY_H

#include "dump/call/call_session.h"

/*
 * Numbers by size: exact below 2^7, and to within a 128th above; 128 buckets for each power of two. So percentiles need
 * no memory that goes by the number of calls.
 */
#define DUMP_SPREAD_BITS 7
#define DUMP_SPREAD_BUCKETS ((64 - DUMP_SPREAD_BITS + 1) << DUMP_SPREAD_BITS)

struct dump_spread {
	uint64_t count;
	uint64_t least, most; /* exact */
	uint64_t sum;
	uint64_t *buckets; /* owned; NULL while it is empty */
};

int dump_spread_add(struct dump_spread *spread, uint64_t value);
void dump_spread_free(struct dump_spread *spread);
/* The value that share (0 to 1) of all do not pass: the upper end of its bucket, but no more than the most. */
uint64_t dump_spread_percentile(const struct dump_spread *spread, double share);
/* How many are in first to last, both inclusive; bounds of powers of two are exact. */
uint64_t dump_spread_between(const struct dump_spread *spread, uint64_t first, uint64_t last);

/* Where the time of calls went. */
struct dump_latency_parts {
	uint64_t running;
	uint64_t other; /* the thread was on another stack: another fibre ran */
	struct dump_absence absence;
};

struct dump_latency_call {
	uint64_t value; /* what is measured: nanoseconds or instructions */
	uint64_t start;
	uint64_t wall;
	uint64_t instructions;
	uint64_t order; /* calls in the order in which they ended */
	struct dump_latency_parts parts;
	uint32_t process, pid, tid;
	uint32_t caller; /* function; DUMP_NO_FUNCTION: none */
};

struct dump_latency_caller {
	uint32_t function;
	struct dump_spread spread;
};

struct dump_latency {
	/* Set by the caller. */
	struct dump_matches matches;
	bool by_instructions;
	uint64_t slowest_max;

	struct dump_spread spread;
	/* Of calls within no other call that is measured, on the same stack: time is not counted twice. Where time is measured. */
	struct dump_latency_parts parts;
	struct dump_latency_parts
		*within; /* the same within frames that have not ended: frame->user, from 1 on; owned */
	size_t within_count, within_capacity;
	uint32_t *within_free; /* numbers that may be used again; owned */
	size_t within_free_count, within_free_capacity;
	uint64_t untimed;                    /* calls without times, which are not counted */
	uint64_t unfinished;                 /* calls that had not ended, nor are they counted */
	struct dump_latency_caller *callers; /* owned; in no order before dump_latency_finish */
	size_t caller_count, caller_capacity;
	struct common_hash_map by_caller;
	struct dump_latency_call *slowest; /* owned; a heap, the least first, before dump_latency_finish */
	size_t slowest_count, slowest_capacity;
};

/* Its context is the latency. */
extern const struct dump_call_observer dump_latency_observer;
/* Puts callers and the slowest calls into order: by number, and by what is measured. */
void dump_latency_finish(struct dump_latency *latency);
void dump_latency_free(struct dump_latency *latency);

#endif
