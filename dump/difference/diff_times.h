/* SPDX-License-Identifier: BSD-2-Clause */
/* Self times of the functions of a trace. */
#ifndef DUMP_DIFFERENCE_DIFF_TIMES_H
#define DUMP_DIFFERENCE_DIFF_TIMES_H

#include "dump/difference/diff_side.h"

struct dump_diff_time {
	uint32_t image;   /* index in the run's timeline of an image with the function */
	uint64_t place;   /* start address of the function in the process */
	const char *name; /* name in the symbol table; lives as long as the run's symbols */
	uint64_t time;    /* nanoseconds */
	uint64_t instructions;
};

struct dump_diff_times {
	struct dump_diff_time *list; /* named functions in compared images; owned */
	size_t count;
	bool timed; /* the trace has timing packets */
};

/* Walks all calls of the run's trace. Call dump_diff_times_free in any case. */
int dump_diff_times_run(struct dump_diff_run *run, struct dump_diff_times *times);
void dump_diff_times_free(struct dump_diff_times *times);

#endif
