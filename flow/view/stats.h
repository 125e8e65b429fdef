/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of what was executed and what is missing, per thread, per process and in all. */
#ifndef FLOW_VIEW_STATS_H
#define FLOW_VIEW_STATS_H

#include "flow/view/gap_list.h"
#include "flow/view/view.h"

struct flow_counts {
	uint64_t instructions;
	uint64_t blocks;
	uint64_t branches; /* executed branch instructions of every kind, taken or not */
	uint64_t taken;    /* of them, if asked for; see flow/view/branch_tally.h */
	uint64_t not_taken;
	uint64_t gaps;
	uint64_t gap_causes[FLOW_GAP_COUNT]; /* gaps of each cause */
	uint64_t gap_bytes[FLOW_GAP_COUNT];  /* PT bytes that were skipped for each cause */
	uint64_t enabled;
	uint64_t disabled; /* asynchronous ones are in async_disabled */
	uint64_t async_disabled;
	uint64_t async_branches;
	uint64_t overflows;
	uint64_t pt_bytes;
	uint64_t segments;
};

struct flow_thread_stats {
	uint32_t thread; /* index in the timeline, FLOW_NONE where the stream is of a CPU */
	uint32_t process;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	struct flow_counts counts;
	bool has_hash;
	uint8_t ip_sha256[32]; /* of all addresses in order, 8 bytes little-endian each */
};

struct flow_process_stats {
	uint32_t process; /* index in the timeline, FLOW_NONE */
	uint32_t pid;
	struct flow_counts counts;
	const struct flow_thread_stats *threads;
	size_t thread_count;
};

struct flow_stats {
	struct flow_counts total;
	struct flow_process_stats *processes; /* every process with a selected stream */
	size_t process_count;
	struct flow_thread_stats *threads; /* all, grouped by process */
	size_t thread_count;
	struct flow_gap *gaps; /* in order of stream and offset: the first gap_limit ones */
	size_t gap_count;      /* in the array; total.gaps counts all */
};

/* What is counted beside sums, which need no walk over the flow. */
struct flow_stats_wanted {
	bool hash;        /* the SHA-256 of instruction addresses of each thread */
	bool taken;       /* which branches were taken */
	size_t gap_limit; /* how many gaps to list */
};

/* Decodes the selection and counts. Free the result with flow_stats_free. */
int flow_stats_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
		   const struct flow_view_options *options, const struct flow_stats_wanted *wanted,
		   struct flow_stats *stats);
/*
 * Adds what was counted in other segments, without hashes; gaps up to the limit. Numbers of processes and threads are those of
 * one timeline in both. PTL_NO_MEMORY.
 */
int flow_stats_add(struct flow_stats *sum, const struct flow_stats *more, size_t gap_limit);
void flow_stats_free(struct flow_stats *stats);

#endif
