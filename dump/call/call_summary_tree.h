/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of a worker's open piece, one below the other: each way to a call has a number that lasts from piece to piece,
 * and so has each state in which flow may stand between steps. For those who find transfers alone.
 */
#ifndef DUMP_CALL_CALL_SUMMARY_TREE_H
#define DUMP_CALL_CALL_SUMMARY_TREE_H

#include "common/number_table.h"
#include "flow/engine/step.h"

/* A piece ends that needs more calls; states that are more than these have no numbers. */
#define DUMP_SUMMARY_CALLS_MAX (1u << 15)
#define DUMP_SUMMARY_STATES_MAX (1u << 18)

#define DUMP_SUMMARY_RECENT_SHIFT 2 /* log2 */

struct dump_summary_call {
	/* What it is: */
	uint64_t return_address;
	uint64_t entry;
	uint32_t parent;
	uint32_t function;
	uint32_t flags; /* DUMP_CALL_* */
	uint32_t depth;

	uint32_t renamed; /* the function that it turned out to be, counted from 1; 0: none yet */
	uint32_t number;  /* of its node, while the piece is closed */
	uint32_t recent
		[1 << DUMP_SUMMARY_RECENT_SHIFT]; /* calls that this one made last, by where from and to; 0: none */
};

struct dump_summary_state {
	uint64_t behind; /* the branch that leads on, if it calls or returns */
	uint32_t call;
	uint32_t home;         /* of the tracker */
	uint32_t instructions; /* of the tracker, too */
	uint32_t branch;       /* enum flow_branch */
};

/* Zero-initialised is empty. The call with the number 0 stands for where pieces begin; there is no such state. */
struct dump_summary_tree {
	struct dump_summary_call *calls;
	uint32_t call_count, call_capacity;
	struct common_number_table call_numbers;
	struct dump_summary_state *states;
	uint32_t state_count, state_capacity; /* with number 0 */
	struct common_number_table state_numbers;
	struct flow_step_sums sums; /* of the open piece, by call */
	uint32_t generation;        /* changes where numbers become others */
};

void dump_summary_tree_free(struct dump_summary_tree *tree);
/* Sums are those of another piece from now on; where there are many calls or states, all are forgotten. PTL_NO_MEMORY. */
int dump_summary_tree_begin(struct dump_summary_tree *tree);
/* The number of a call that is like this. PTL_NO_MEMORY. */
int dump_summary_tree_call(struct dump_summary_tree *tree, const struct dump_summary_call *like, uint32_t *number);
/* The number of a state; 0: there is no room. */
uint32_t dump_summary_tree_state(struct dump_summary_tree *tree, const struct dump_summary_state *like);

#endif
