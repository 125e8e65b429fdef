/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of executed code and of missing flow, for each thread, for each process, and in total. */
#ifndef ANALYSIS_PROFILE_STATS_H
#define ANALYSIS_PROFILE_STATS_H

#include "analysis/profile/gap_list.h"
#include "flow/view/view.h"

struct analysis_counts {
	uint64_t instructions;
	uint64_t blocks;
	uint64_t branches; /* executed branch instructions of every kind, taken or not */
	uint64_t taken;    /* taken branches, if wanted; see analysis/profile/branch_tally.h */
	uint64_t not_taken;
	uint64_t gaps;
	uint64_t gap_causes[FLOW_GAP_COUNT]; /* number of gaps, by cause */
	uint64_t gap_bytes[FLOW_GAP_COUNT];  /* skipped PT bytes, by cause */
	uint64_t enabled;
	uint64_t disabled; /* without asynchronous events, which are in async_disabled */
	uint64_t async_disabled;
	uint64_t async_branches;
	uint64_t overflows;
	uint64_t pt_bytes;
	uint64_t segments;
};

struct analysis_thread_stats {
	uint32_t thread; /* index in the timeline; FLOW_NONE: the stream belongs to a CPU */
	uint32_t process;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	struct analysis_counts counts;
	bool has_hash;
	uint8_t ip_sha256[32]; /* hash of all addresses in order, 8 bytes little-endian each */
};

struct analysis_process_stats {
	uint32_t process; /* index in the timeline, FLOW_NONE */
	uint32_t pid;
	struct analysis_counts counts;
	const struct analysis_thread_stats *threads;
	size_t thread_count;
};

struct analysis_stats {
	struct analysis_counts total;
	struct analysis_process_stats *processes; /* all processes with a selected stream */
	size_t process_count;
	struct analysis_thread_stats *threads; /* all threads, grouped by process */
	size_t thread_count;
	struct analysis_gap *gaps; /* the first gap_limit gaps, ordered by stream and offset */
	size_t gap_count;          /* number of gaps in the array; total.gaps counts all gaps */
};

/* Results beyond sums. Sums need no walk over the flow. */
struct analysis_stats_wanted {
	bool hash;        /* SHA-256 of each thread's instruction addresses */
	bool taken;       /* number of taken branches */
	size_t gap_limit; /* maximum number of listed gaps */
};

/* Decodes and counts the selected flow. Free the result with analysis_stats_free. */
int analysis_stats_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
		       const struct flow_view_options *options, const struct analysis_stats_wanted *wanted,
		       struct analysis_stats *stats);
/*
 * Adds the counts of other segments, without hashes, and with gaps up to the limit. Both stats use the processes and
 * threads of one timeline. Returns PTL_NO_MEMORY.
 */
int analysis_stats_add(struct analysis_stats *sum, const struct analysis_stats *more, size_t gap_limit);
void analysis_stats_free(struct analysis_stats *stats);

#endif
