/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the ways of two threads part for the first time. */
#ifndef DUMP_DIFFERENCE_DIFF_FIRST_H
#define DUMP_DIFFERENCE_DIFF_FIRST_H

#include "dump/difference/diff_path.h"

#define DUMP_DIFF_NOBODY SIZE_MAX

/* Two threads that belong together: the same place among those of the same name, in processes of which the same holds. */
struct dump_diff_pair {
	size_t a, b;                        /* indexes of threads; DUMP_DIFF_NOBODY: the other one has no partner */
	size_t process_order, thread_order; /* their places, from 0 */
	bool differs;
	uint64_t common; /* units before they part */
	/* Where that is in the stretches of both: what is before it is the same. */
	size_t at;
};

struct dump_diff_first {
	struct dump_diff_path paths[2];
	struct dump_diff_pair *pairs; /* in the order of A; what only B has comes last */
	size_t count;
	uint64_t before, after; /* units that are wanted on both sides of each parting */
};

/* Compares the first trace of both sides: set before and after. Free with dump_diff_first_free, also after a failure. */
int dump_diff_find_first(const struct dump_diff *diff, struct dump_diff_first *first);
void dump_diff_first_free(struct dump_diff_first *first);

/* The names by which they are matched; "" where there is none. */
const char *dump_diff_process_name(const struct dump_diff_run *run, const struct dump_diff_thread *thread);
const char *dump_diff_thread_name(const struct dump_diff_run *run, const struct dump_diff_thread *thread);

#endif
