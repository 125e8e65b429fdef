/* SPDX-License-Identifier: BSD-2-Clause */
/* Durations of a function's calls: distribution, callers, slowest calls, and the use of the time. */
#ifndef ANALYSIS_CALL_CALL_LATENCY_H
#define ANALYSIS_CALL_CALL_LATENCY_H

#include "analysis/call/call_input.h"

/*
 * A histogram of values. Exact below 2^7; above, a bucket spans 1/128 of its value, with 128 buckets per power of two.
 * Memory for percentiles does not depend on the number of calls.
 */
#define ANALYSIS_SPREAD_BITS 7
#define ANALYSIS_SPREAD_BUCKETS ((64 - ANALYSIS_SPREAD_BITS + 1) << ANALYSIS_SPREAD_BITS)

struct analysis_spread {
	uint64_t count;
	uint64_t least, most; /* exact */
	uint64_t sum;
	uint64_t *buckets; /* owned; NULL: empty */
};

int analysis_spread_add(struct analysis_spread *spread, uint64_t value);
void analysis_spread_free(struct analysis_spread *spread);
/*
 * Returns a value that is not exceeded by the given share (0 to 1) of values: the upper bound of a bucket, at most
 * `most`.
 */
uint64_t analysis_spread_percentile(const struct analysis_spread *spread, double share);
/* Returns the number of values from first to last, both inclusive. Exact if the bounds are powers of two. */
uint64_t analysis_spread_between(const struct analysis_spread *spread, uint64_t first, uint64_t last);

/* The use of the time of calls. */
struct analysis_latency_parts {
	uint64_t running;
	uint64_t other; /* the thread was on another stack: another fibre ran */
	struct analysis_absence absence;
};

/* Divides the wall time of a complete frame into its uses. The parts add up to the wall time. */
struct analysis_latency_parts analysis_latency_parts_of(const struct analysis_frame *frame);

struct analysis_latency_call {
	uint64_t value; /* measured value: nanoseconds or instructions */
	uint64_t start;
	uint64_t wall;
	uint64_t instructions;
	uint64_t order; /* position among calls in the order of their ends */
	struct analysis_latency_parts parts;
	uint32_t process, pid, tid;
	uint32_t caller; /* function of the caller; ANALYSIS_NO_FUNCTION: none */
};

struct analysis_latency_caller {
	uint32_t function;
	struct analysis_spread spread;
};

struct analysis_latency {
	/* Set by the caller. */
	struct analysis_matches matches;
	bool by_instructions;
	uint64_t slowest_max;

	struct analysis_spread spread;
	/*
	 * Use of the time of outermost measured calls: a call within another measured call on the same stack is not
	 * counted twice. Only for times.
	 */
	struct analysis_latency_parts parts;
	struct analysis_latency_parts
		*within; /* use of time within unfinished frames; frame->user is an index from 1; owned */
	size_t within_count, within_capacity;
	uint32_t *within_free; /* unused numbers of `within`; owned */
	size_t within_free_count, within_free_capacity;
	uint64_t untimed;                        /* calls without times, which are not measured */
	uint64_t unfinished;                     /* calls that did not end, or whose begin is unknown; not measured */
	struct analysis_latency_caller *callers; /* owned; unsorted before analysis_latency_finish */
	size_t caller_count, caller_capacity;
	struct common_hash_map by_caller;
	struct analysis_latency_call *slowest; /* owned; a min-heap before analysis_latency_finish */
	size_t slowest_count, slowest_capacity;
};

/* The context is the latency. */
extern const struct analysis_call_observer analysis_latency_observer;
/* Sorts callers by number of calls, and slowest calls by value. */
void analysis_latency_finish(struct analysis_latency *latency);
void analysis_latency_free(struct analysis_latency *latency);

#endif
