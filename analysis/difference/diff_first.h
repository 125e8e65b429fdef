/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the first difference between the paths of two threads. */
#ifndef ANALYSIS_DIFFERENCE_DIFF_FIRST_H
#define ANALYSIS_DIFFERENCE_DIFF_FIRST_H

#include "analysis/difference/diff_path.h"

#define ANALYSIS_DIFF_NOBODY SIZE_MAX

/*
 * Two matched threads: same thread name and same order among threads of this name, in processes that match in the same
 * way.
 */
struct analysis_diff_pair {
	size_t a, b; /* indexes of threads; ANALYSIS_DIFF_NOBODY: the other thread has no partner */
	size_t process_order, thread_order; /* order among processes or threads of the same name, from 0 */
	bool differs;
	uint64_t common; /* units before the first difference */
	/* Index of the first difference in the stretches of both threads. Units before the index are equal. */
	size_t at;
};

struct analysis_diff_first {
	struct analysis_diff_path paths[2];
	struct analysis_diff_pair *pairs; /* threads of A in order, followed by B's threads without a partner */
	size_t count;
	uint64_t before, after; /* requested units before and after each difference */
};

/* Compares the first trace of both sides. Set `before` and `after` first. Call analysis_diff_first_free in any case. */
int analysis_diff_find_first(const struct analysis_diff *diff, struct analysis_diff_first *first);
void analysis_diff_first_free(struct analysis_diff_first *first);

/* Names used for matching; "" if unknown. */
const char *analysis_diff_process_name(const struct analysis_diff_run *run, const struct analysis_diff_thread *thread);
const char *analysis_diff_thread_name(const struct analysis_diff_run *run, const struct analysis_diff_thread *thread);

#endif
