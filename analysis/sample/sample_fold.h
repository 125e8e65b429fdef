/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums of stacks by path: a tree of functions for each program of each thread. The sums do not depend on the order of
 * the samples.
 */
#ifndef ANALYSIS_SAMPLE_SAMPLE_FOLD_H
#define ANALYSIS_SAMPLE_SAMPLE_FOLD_H

#include "analysis/call/call_stack.h"
#include "analysis/call/path_table.h"

/* A sampled thread. */
struct analysis_sample_thread {
	uint32_t process, pid, tid, cpu; /* as in struct analysis_call_thread */
	uint32_t program;                /* number of the process's program, from 1; 0: unknown */
	uint32_t first;                  /* root node of the thread's tree */
};

/* Samples with this path. Samples of callees are not included. */
struct analysis_sample_node {
	/* Layout of struct analysis_path_key: */
	uint32_t parent;   /* of a thread's root node: 0 */
	uint32_t function; /* of a thread's root node: number of the thread */

	uint64_t samples, period;
};

/* A zero-initialised fold is empty. */
struct analysis_sample_fold {
	struct analysis_sample_thread *threads; /* owned */
	size_t thread_count, thread_capacity;
	struct common_byte_map by_thread;
	struct analysis_sample_node *nodes; /* owned; a parent precedes its children; node 0 is unused */
	size_t count, capacity;
	struct analysis_path_table by_path; /* all nodes except root nodes */
	uint32_t last;                      /* last thread found, from 1 */
	uint64_t cut;                       /* samples attributed to a caller, since there were too many paths */
};

/* Finds or adds the thread. The caller sets all members except `first`. Returns 0 or PTL_NO_MEMORY. */
int analysis_sample_thread(struct analysis_sample_fold *fold, const struct analysis_sample_thread *thread,
			   uint32_t *number);
/*
 * Adds a sample of the thread. functions: innermost first. If there are too many paths, the sample is attributed to a
 * caller, or to no known function. Returns 0 or PTL_NO_MEMORY.
 */
int analysis_sample_add(struct analysis_sample_fold *fold, uint32_t thread, const uint32_t *functions, size_t count,
			uint64_t period);
/*
 * Adds the sums of a fold of later samples. The order of nodes and threads is the same as if one fold had received all
 * samples. Returns 0 or PTL_NO_MEMORY.
 */
int analysis_sample_merge(struct analysis_sample_fold *fold, const struct analysis_sample_fold *later);
void analysis_sample_fold_free(struct analysis_sample_fold *fold);

/* Reports each thread to the observer as one piece, process by process. timed: samples have periods. */
int analysis_sample_fold_show(struct analysis_sample_fold *fold, const struct flow_timeline *timeline, bool timed,
			      const struct analysis_call_observer *observer);

#endif
