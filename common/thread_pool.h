/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs independent jobs on several threads and hands over their results in order. */
#ifndef COMMON_THREAD_POOL_H
#define COMMON_THREAD_POOL_H

#include <stddef.h>

/*
 * An ordered pipeline. work(i) runs on any thread; finish(i) runs on the calling thread, in the order of i. At most
 * `window` jobs are started and not finished, which bounds memory.
 * The run stops at the first negative result of work or finish, first in the order of the jobs. The run returns this
 * result, with its error chain in the calling thread. So the outcome is the same for any number of threads. Later jobs
 * may have been worked on without being finished; the context's owner frees their data.
 */
struct common_pipeline {
	size_t count;     /* jobs 0 to count-1 */
	unsigned threads; /* 1: all jobs run in the calling thread; 0: one thread per available CPU */
	size_t window;    /* most jobs started and not finished; 0: 4 per thread */
	void *context;
	/* worker: 0 to threads-1, for per-thread state. */
	int (*work)(void *context, unsigned worker, size_t job);
	int (*finish)(void *context, size_t job); /* may be NULL */
	/* Called on each thread after its last job, to free per-thread state in parallel. May be NULL. */
	void (*leave)(void *context, unsigned worker);
};

int common_pipeline_run(const struct common_pipeline *pipeline);

/*
 * Called by work: waits until all earlier jobs are finished, so that a job with a large result need not keep the whole
 * result. On the calling thread, may call finish for earlier jobs. Returns 0, or a negative status if the run has
 * failed: work must return this status.
 */
int common_pipeline_await(void);

/* Returns the number of CPUs that this process may run on; at least 1. */
unsigned common_cpu_count(void);

#endif
