/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the first difference between the paths of two threads. */
#ifndef DUMP_DIFFERENCE_DIFF_FIRST_H
#define DUMP_DIFFERENCE_DIFF_FIRST_H

#include "dump/difference/diff_path.h"

#define DUMP_DIFF_NOBODY SIZE_MAX

/*
 * Two matched threads: same thread name and same order among threads of this name, in processes that match in the same
 * way.
 */
struct dump_diff_pair {
	size_t a, b;                        /* indexes of threads; DUMP_DIFF_NOBODY: the other thread has no partner */
	size_t process_order, thread_order; /* order among processes or threads of the same name, from 0 */
	bool differs;
	uint64_t common; /* units before the first difference */
	/* Index of the first difference in the stretches of both threads. Units before the index are equal. */
	size_t at;
};

struct dump_diff_first {
	struct dump_diff_path paths[2];
	struct dump_diff_pair *pairs; /* threads of A in order, followed by B's threads without a partner */
	size_t count;
	uint64_t before, after; /* requested units before and after each difference */
};

/* Compares the first trace of both sides. Set `before` and `after` first. Call dump_diff_first_free in any case. */
int dump_diff_find_first(const struct dump_diff *diff, struct dump_diff_first *first);
void dump_diff_first_free(struct dump_diff_first *first);

/* Names used for matching; "" if unknown. */
const char *dump_diff_process_name(const struct dump_diff_run *run, const struct dump_diff_thread *thread);
const char *dump_diff_thread_name(const struct dump_diff_run *run, const struct dump_diff_thread *thread);

#endif
