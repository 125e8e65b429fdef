/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of functions, blocks and edges on each of two sides. */
#ifndef DUMP_DIFFERENCE_DIFF_COUNTS_H
#define DUMP_DIFFERENCE_DIFF_COUNTS_H

#include "dump/difference/diff_side.h"

enum dump_diff_kind {
	DUMP_DIFF_FUNCTION, /* counted in instructions; in a rebuilt image, in calls */
	DUMP_DIFF_BLOCK,    /* identified by its last branch, wherever the flow entered the block */
	DUMP_DIFF_EDGE,     /* from a conditional branch (taken or not taken), or from an indirect branch to a block */
	DUMP_DIFF_TIME,     /* self time of a function in nanoseconds */
	DUMP_DIFF_WORK,     /* self instructions of a function, compared if a run has no times */
	DUMP_DIFF_KINDS,
};

enum dump_diff_change {
	DUMP_DIFF_SAME, /* the counts of both sides overlap */
	DUMP_DIFF_NEW,  /* absent in every run of A, present in every run of B */
	DUMP_DIFF_GONE,
	DUMP_DIFF_MORE, /* the lowest count of B exceeds the highest count of A */
	DUMP_DIFF_FEWER,
	DUMP_DIFF_SLOWER, /* each run of B took longer than any run of A, by more than the percentage of diff->slower */
	DUMP_DIFF_FASTER,
	DUMP_DIFF_CHANGES,
};

enum dump_diff_way { DUMP_DIFF_TAKEN, DUMP_DIFF_NOT_TAKEN, DUMP_DIFF_TO };

struct dump_diff_item {
	uint8_t kind;
	uint8_t way;    /* of an edge */
	uint8_t change; /* enum dump_diff_change */
	bool calls;     /* of a function: counts are calls, not instructions */
	uint32_t run;   /* number of a run that has the item: the members below refer to this run */
	uint32_t image; /* index in the run's timeline; FLOW_NONE */
	uint64_t place; /* address of the function or branch in the process */
	uint32_t to_image;
	uint64_t to;                /* target of an edge with the way DUMP_DIFF_TO */
	uint64_t least[2], most[2]; /* smallest and largest count among the runs of each side */
};

struct dump_diff_counts {
	/* changed items, by kind; within a kind, items with the largest difference come first */
	struct dump_diff_item *items;
	size_t count;
	uint64_t kinds[DUMP_DIFF_KINDS];                      /* number of all items of each kind */
	uint64_t changes[DUMP_DIFF_KINDS][DUMP_DIFF_CHANGES]; /* number of items of each kind and change */
};

/*
 * Decodes all traces in turn. If diff->slower is set, decodes them a second time for times. Call dump_diff_counts_free
 * in any case.
 */
int dump_diff_count(struct dump_diff *diff, struct dump_diff_counts *counts);
void dump_diff_counts_free(struct dump_diff_counts *counts);

const char *dump_diff_kind_name(unsigned kind);     /* "function", ...; also for times */
const char *dump_diff_change_name(unsigned change); /* "new", ... */

#endif
