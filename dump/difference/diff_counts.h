/* SPDX-License-Identifier: BSD-2-Clause */
/* How often functions, blocks and edges ran on each of two sides. */
#ifndef DUMP_DIFFERENCE_DIFF_COUNTS_H
#define DUMP_DIFFERENCE_DIFF_COUNTS_H

#include "dump/difference/diff_side.h"

enum dump_diff_kind {
	DUMP_DIFF_FUNCTION, /* counted in instructions; of an image that was built again, in calls */
	DUMP_DIFF_BLOCK,    /* known by the branch that ends it, wherever the flow came into it */
	DUMP_DIFF_EDGE,     /* from a conditional branch one way or the other, or from an indirect one to a block */
	DUMP_DIFF_TIME,     /* of a function by itself, in nanoseconds */
	DUMP_DIFF_WORK,     /* the same in instructions, where a trace has no times */
	DUMP_DIFF_KINDS,
};

enum dump_diff_change {
	DUMP_DIFF_SAME, /* the counts of both sides overlap */
	DUMP_DIFF_NEW,  /* no run of A has it, all of B do */
	DUMP_DIFF_GONE,
	DUMP_DIFF_MORE, /* each run of B has more than any of A */
	DUMP_DIFF_FEWER,
	DUMP_DIFF_SLOWER, /* each run of B took longer than any of A, by more than what is asked for */
	DUMP_DIFF_FASTER,
	DUMP_DIFF_CHANGES,
};

enum dump_diff_way { DUMP_DIFF_TAKEN, DUMP_DIFF_NOT_TAKEN, DUMP_DIFF_TO };

struct dump_diff_item {
	uint8_t kind;
	uint8_t way;    /* of an edge */
	uint8_t change; /* enum dump_diff_change */
	bool calls;     /* are counted, of a function */
	uint32_t run;   /* one that has it: what is below is of that */
	uint32_t image; /* index in its timeline; FLOW_NONE */
	uint64_t place; /* address in the process: of the function, or of the branch */
	uint32_t to_image;
	uint64_t to;                /* of an edge with the way TO */
	uint64_t least[2], most[2]; /* of the runs of each side */
};

struct dump_diff_counts {
	struct dump_diff_item *items; /* those that changed; of each kind those first whose counts are furthest apart */
	size_t count;
	uint64_t kinds[DUMP_DIFF_KINDS];                      /* all that there are, the same or not */
	uint64_t changes[DUMP_DIFF_KINDS][DUMP_DIFF_CHANGES]; /* of them */
};

/*
 * Decodes all traces, one after the other; where diff->slower asks for times, once more for these. Free with dump_diff_counts_free,
 * also after a failure.
 */
int dump_diff_count(struct dump_diff *diff, struct dump_diff_counts *counts);
void dump_diff_counts_free(struct dump_diff_counts *counts);

const char *dump_diff_kind_name(unsigned kind);     /* "function", ...: of times, too */
const char *dump_diff_change_name(unsigned change); /* "new", ... */

#endif
