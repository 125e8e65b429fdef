/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of what was executed and what is missing, per thread, per process and in all. */
#ifndef PTL_FLOW_VIEW_STATS_H
#define PTL_FLOW_VIEW_STATS_H

#include "flow/view/view.h"

struct ptl_flow_counts {
	uint64_t instructions;
	uint64_t blocks;
	uint64_t branches; /* executed branch instructions of every kind, taken or not */
	uint64_t gaps;
	uint64_t gap_causes[PTL_GAP_COUNT]; /* gaps of each cause */
	uint64_t gap_bytes[PTL_GAP_COUNT];  /* PT bytes that were skipped for each cause */
	uint64_t enabled;
	uint64_t disabled; /* asynchronous ones are in async_disabled */
	uint64_t async_disabled;
	uint64_t async_branches;
	uint64_t overflows;
	uint64_t pt_bytes;
	uint64_t segments;
};

struct ptl_thread_stats {
	uint32_t thread; /* index in the timeline, PTL_NONE where the stream is of a CPU */
	uint32_t process;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	struct ptl_flow_counts counts;
	bool has_hash;
	uint8_t ip_sha256[32]; /* of all addresses in order, 8 bytes little-endian each */
};

struct ptl_process_stats {
	uint32_t process; /* index in the timeline, PTL_NONE */
	uint32_t pid;
	struct ptl_flow_counts counts;
	const struct ptl_thread_stats *threads;
	size_t thread_count;
};

/* A place where flow is missing. */
struct ptl_gap {
	uint32_t pid;
	uint32_t tid;
	uint32_t process; /* index in the timeline, PTL_NONE */
	uint32_t stream;
	struct ptl_flow_event event; /* kind PTL_FLOW_GAP: cause, offset, time, from, size */
};

struct ptl_stats {
	struct ptl_flow_counts total;
	struct ptl_process_stats *processes; /* every process with a selected stream */
	size_t process_count;
	struct ptl_thread_stats *threads; /* all, grouped by process */
	size_t thread_count;
	struct ptl_gap *gaps; /* in order of stream and offset: the first gap_limit ones */
	size_t gap_count;     /* in the array; total.gaps counts all */
};

/*
 * Decodes the selection and counts. hash: also the SHA-256 of instruction addresses per thread.
 * gap_limit: how many gaps to list. Free the result with ptl_stats_free.
 */
int ptl_stats_run(struct ptl_trace *trace, const struct ptl_timeline *timeline,
		  const struct ptl_view_options *options, bool hash, size_t gap_limit,
		  struct ptl_stats *stats);
void ptl_stats_free(struct ptl_stats *stats);

#endif
