/* SPDX-License-Identifier: BSD-2-Clause */
/* Self times of the functions of a trace. */
#ifndef ANALYSIS_DIFFERENCE_DIFF_TIMES_H
#define ANALYSIS_DIFFERENCE_DIFF_TIMES_H

#include "analysis/difference/diff_side.h"

struct analysis_diff_time {
	uint32_t image;   /* index in the run's timeline of an image with the function */
	uint64_t place;   /* start address of the function in the process */
	const char *name; /* name in the symbol table; lives as long as the run's symbols */
	uint64_t time;    /* nanoseconds */
	uint64_t instructions;
};

struct analysis_diff_times {
	struct analysis_diff_time *list; /* named functions in compared images; owned */
	size_t count;
	bool timed; /* the trace has timing packets */
};

/* Walks all calls of the run's trace. Call analysis_diff_times_free in any case. */
int analysis_diff_times_run(struct analysis_diff_run *run, struct analysis_diff_times *times);
void analysis_diff_times_free(struct analysis_diff_times *times);

#endif
