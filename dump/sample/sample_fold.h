/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks, added up by path: a tree of functions for each program of each thread. What is added in which order does not matter for the
 * sums.
 */
#ifndef DUMP_SAMPLE_SAMPLE_FOLD_H
#define DUMP_SAMPLE_SAMPLE_FOLD_H

#include "dump/call/call_stack.h"
#include "dump/call/path_table.h"

/* Who was sampled. */
struct dump_sample_thread {
	uint32_t process, pid, tid, cpu; /* as in a dump_call_thread */
	uint32_t program;                /* of the process, counted from 1; 0: not known */
	uint32_t first;                  /* node of the path before all functions */
};

/* What was sampled with this path, without what it called. */
struct dump_sample_node {
	/* A struct dump_path_key: */
	uint32_t parent;   /* of a thread's first node: 0 */
	uint32_t function; /* of a thread's first node: the thread */

	uint64_t samples, period;
};

/* Zero-initialised is empty. */
struct dump_sample_fold {
	struct dump_sample_thread *threads; /* owned */
	size_t thread_count, thread_capacity;
	struct common_byte_map by_thread;
	struct dump_sample_node *nodes; /* owned; a parent is before its children, and node 0 stands for none */
	size_t count, capacity;
	struct dump_path_table by_path; /* but for threads */
	uint32_t last;                  /* the thread that was found last, counted from 1 */
	uint64_t cut;                   /* samples that are shown as their callers': there are too many paths */
};

/* The thread's number; the caller sets all but `first`. PTL_NO_MEMORY. */
int dump_sample_thread(struct dump_sample_fold *fold, const struct dump_sample_thread *thread, uint32_t *number);
/*
 * Adds a sample of the thread, in functions of which the first is the innermost. Where there are too many paths, it is one of a caller,
 * or of no known function. PTL_NO_MEMORY.
 */
int dump_sample_add(struct dump_sample_fold *fold, uint32_t thread, const uint32_t *functions, size_t count,
		    uint64_t period);
/*
 * Adds what another fold has of later samples: the order of nodes and threads is that of one fold of all of them.
 * PTL_NO_MEMORY.
 */
int dump_sample_merge(struct dump_sample_fold *fold, const struct dump_sample_fold *later);
void dump_sample_fold_free(struct dump_sample_fold *fold);

/* Gives what each thread has to the observer as one piece, process by process; timed: what has periods. */
int dump_sample_fold_show(struct dump_sample_fold *fold, const struct flow_timeline *timeline, bool timed,
			  const struct dump_call_observer *observer);

#endif
