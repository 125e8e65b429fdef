/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of functions, blocks and edges on each of two sides. */
#ifndef ANALYSIS_DIFFERENCE_DIFF_COUNTS_H
#define ANALYSIS_DIFFERENCE_DIFF_COUNTS_H

#include "analysis/difference/diff_side.h"

enum analysis_diff_kind {
	ANALYSIS_DIFF_FUNCTION, /* counted in instructions; in a rebuilt image, in calls */
	ANALYSIS_DIFF_BLOCK,    /* identified by its last branch, wherever the flow entered the block */
	ANALYSIS_DIFF_EDGE, /* from a conditional branch (taken or not taken), or from an indirect branch to a block */
	ANALYSIS_DIFF_TIME, /* self time of a function in nanoseconds */
	ANALYSIS_DIFF_WORK, /* self instructions of a function, compared if a run has no times */
	ANALYSIS_DIFF_KINDS,
};

enum analysis_diff_change {
	ANALYSIS_DIFF_SAME, /* the counts of both sides overlap */
	ANALYSIS_DIFF_NEW,  /* absent in every run of A, present in every run of B */
	ANALYSIS_DIFF_GONE,
	ANALYSIS_DIFF_MORE, /* the lowest count of B exceeds the highest count of A */
	ANALYSIS_DIFF_FEWER,
	ANALYSIS_DIFF_SLOWER, /* each run of B took longer than any run of A, by more than the percentage of diff->slower */
	ANALYSIS_DIFF_FASTER,
	ANALYSIS_DIFF_CHANGES,
};

enum analysis_diff_way { ANALYSIS_DIFF_TAKEN, ANALYSIS_DIFF_NOT_TAKEN, ANALYSIS_DIFF_TO };

struct analysis_diff_item {
	uint8_t kind;
	uint8_t way;    /* of an edge */
	uint8_t change; /* enum analysis_diff_change */
	bool calls;     /* of a function: counts are calls, not instructions */
	uint32_t run;   /* number of a run that has the item: the members below refer to this run */
	uint32_t image; /* index in the run's timeline; FLOW_NONE */
	uint64_t place; /* address of the function or branch in the process */
	uint32_t to_image;
	uint64_t to;                /* target of an edge with the way ANALYSIS_DIFF_TO */
	uint64_t least[2], most[2]; /* smallest and largest count among the runs of each side */
	/* of a new or gone item: nanoseconds, and instructions of its thread, after its last execution in `run` */
	uint64_t time_left, instructions_left; /* UINT64_MAX: unknown */
};

struct analysis_diff_counts {
	/*
	 * Changed items, by kind. Within a kind, new and gone items come first, ordered by the time between their last
	 * execution and the end of the run; then items with the largest difference.
	 */
	struct analysis_diff_item *items;
	size_t count;
	uint64_t kinds[ANALYSIS_DIFF_KINDS];                          /* number of all items of each kind */
	uint64_t changes[ANALYSIS_DIFF_KINDS][ANALYSIS_DIFF_CHANGES]; /* number of items of each kind and change */
};

/*
 * Decodes all traces in turn. If diff->slower is set, decodes them a second time for times. Call analysis_diff_counts_free
 * in any case.
 */
int analysis_diff_count(struct analysis_diff *diff, struct analysis_diff_counts *counts);
void analysis_diff_counts_free(struct analysis_diff_counts *counts);

const char *analysis_diff_kind_name(unsigned kind);     /* "function", ...; also for times */
const char *analysis_diff_change_name(unsigned change); /* "new", ... */

#endif
