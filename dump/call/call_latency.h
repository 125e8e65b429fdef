/* SPDX-License-Identifier: BSD-2-Clause */
/* Durations of a function's calls: distribution, callers, slowest calls, and the use of the time. */
#ifndef DUMP_CALL_CALL_LATENCY_H
#define DUMP_CALL_CALL_LATENCY_H

#include "dump/call/call_session.h"

/*
 * A histogram of values. Exact below 2^7; above, a bucket spans 1/128 of its value, with 128 buckets per power of two.
 * Memory for percentiles does not depend on the number of calls.
 */
#define DUMP_SPREAD_BITS 7
#define DUMP_SPREAD_BUCKETS ((64 - DUMP_SPREAD_BITS + 1) << DUMP_SPREAD_BITS)

struct dump_spread {
	uint64_t count;
	uint64_t least, most; /* exact */
	uint64_t sum;
	uint64_t *buckets; /* owned; NULL: empty */
};

int dump_spread_add(struct dump_spread *spread, uint64_t value);
void dump_spread_free(struct dump_spread *spread);
/*
 * Returns a value that is not exceeded by the given share (0 to 1) of values: the upper bound of a bucket, at most
 * `most`.
 */
uint64_t dump_spread_percentile(const struct dump_spread *spread, double share);
/* Returns the number of values from first to last, both inclusive. Exact if the bounds are powers of two. */
uint64_t dump_spread_between(const struct dump_spread *spread, uint64_t first, uint64_t last);

/* The use of the time of calls. */
struct dump_latency_parts {
	uint64_t running;
	uint64_t other; /* the thread was on another stack: another fibre ran */
	struct dump_absence absence;
};

struct dump_latency_call {
	uint64_t value; /* measured value: nanoseconds or instructions */
	uint64_t start;
	uint64_t wall;
	uint64_t instructions;
	uint64_t order; /* position among calls in the order of their ends */
	struct dump_latency_parts parts;
	uint32_t process, pid, tid;
	uint32_t caller; /* function of the caller; DUMP_NO_FUNCTION: none */
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
	/*
	 * Use of the time of outermost measured calls: a call within another measured call on the same stack is not
	 * counted twice. Only for times.
	 */
	struct dump_latency_parts parts;
	struct dump_latency_parts
		*within; /* use of time within unfinished frames; frame->user is an index from 1; owned */
	size_t within_count, within_capacity;
	uint32_t *within_free; /* unused numbers of `within`; owned */
	size_t within_free_count, within_free_capacity;
	uint64_t untimed;                    /* calls without times, which are not measured */
	uint64_t unfinished;                 /* calls that did not end, or whose begin is unknown; not measured */
	struct dump_latency_caller *callers; /* owned; unsorted before dump_latency_finish */
	size_t caller_count, caller_capacity;
	struct common_hash_map by_caller;
	struct dump_latency_call *slowest; /* owned; a min-heap before dump_latency_finish */
	size_t slowest_count, slowest_capacity;
};

/* The context is the latency. */
extern const struct dump_call_observer dump_latency_observer;
/* Sorts callers by number of calls, and slowest calls by value. */
void dump_latency_finish(struct dump_latency *latency);
void dump_latency_free(struct dump_latency *latency);

#endif
