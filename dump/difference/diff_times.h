/* SPDX-License-Identifier: BSD-2-Clause */
/* How long the functions of a trace took by themselves. */
#ifndef DUMP_DIFFERENCE_DIFF_TIMES_H
#define DUMP_DIFFERENCE_DIFF_TIMES_H

#include "dump/difference/diff_side.h"

struct dump_diff_time {
	uint32_t image;   /* index in the run's timeline, of one that has the function */
	uint64_t place;   /* where the function begins, as it was in the process */
	const char *name; /* as the linker knows it; lives as long as the run's symbols */
	uint64_t time;    /* nanoseconds */
	uint64_t instructions;
};

struct dump_diff_times {
	struct dump_diff_time *list; /* of functions with names in images that are compared; owned */
	size_t count;
	bool timed; /* the trace has timing packets */
};

/* Walks all calls of the run's trace. Free with dump_diff_times_free, also after a failure. */
int dump_diff_times_run(struct dump_diff_run *run, struct dump_diff_times *times);
void dump_diff_times_free(struct dump_diff_times *times);

#endif
