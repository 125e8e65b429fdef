/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs independent jobs on several threads and hands their results back in order. */
#ifndef COMMON_THREAD_POOL_H
#define COMMON_THREAD_POOL_H

#include <stddef.h>

/*
 * An ordered pipeline: work(i) runs on any thread, finish(i) runs on the calling thread in the
 * order of i. At most `window` jobs are between start and finish, which bounds memory. The first
 * negative result of work or finish, first in the order of the jobs, stops the run and is returned
 * (with its error chain in the calling thread): the outcome is the same for any number of threads.
 * Jobs after it may have been worked on and are not finished; what they hold is the context's to
 * free.
 */
struct common_pipeline {
	size_t count;     /* jobs 0 to count-1 */
	unsigned threads; /* 1 runs everything in the calling thread; 0 means one per available CPU
			   */
	size_t window;    /* 0 means 4 per thread */
	void *context;
	/* worker is 0 to threads-1, for per-thread state. */
	int (*work)(void *context, unsigned worker, size_t job);
	int (*finish)(void *context, size_t job); /* may be NULL */
	/* On each thread that runs jobs, when there are no more for it: frees per-thread state side by side. May be NULL. */
	void (*leave)(void *context, unsigned worker);
};

int common_pipeline_run(const struct common_pipeline *pipeline);

/*
 * Called by work: returns when all jobs before this one are finished, so that a job that has made much need not keep all of
 * it. On the calling thread it may call finish for them. 0; negative if the run has failed: work then returns that.
 */
int common_pipeline_await(void);

/* CPUs this process may run on; at least 1. */
unsigned common_cpu_count(void);

#endif
