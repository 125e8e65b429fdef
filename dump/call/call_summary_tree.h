/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of a worker's open piece, one below the other: each way to a call has a number that lasts from piece to piece,
 * and so has each state in which flow may stand between steps. For those who find transfers alone.
 */
#ifndef DUMP_CALL_CALL_SUMMARY_TREE_H
#define DUMP_CALL_CALL_SUMMARY_TREE_H

#include <string.h>

#include "common/number_table.h"
#include "common/vector.h"
#include "flow/engine/step.h"

/*
 * A piece ends that needs more calls: these fit the second-level cache beside the rest. States and effects that are more than these
 * have no numbers.
 */
#define DUMP_SUMMARY_CALLS_MAX (1u << 12)
/* A transfer that is taken where a piece is not full needs no more than these. */
#define DUMP_SUMMARY_CALLS_ROOM (DUMP_SUMMARY_CALLS_MAX + 8)
#define DUMP_SUMMARY_STATES_MAX (1u << 18)
#define DUMP_SUMMARY_EFFECTS_MAX (1u << 18)

#define DUMP_SUMMARY_RECENT_SHIFT 12  /* log2 */
#define DUMP_SUMMARY_ENTERED_SHIFT 13 /* log2: half of it is free */

/* A cache line. */
struct dump_summary_call {
	/* What it is: */
	uint64_t return_address;
	uint64_t entry;
	uint32_t parent;
	uint32_t function;
	uint32_t flags; /* DUMP_CALL_* */
	uint32_t depth;

	/* Of the piece whose turn it is; before that, both are 0: */
	uint64_t instructions;
	int64_t calls;
	uint32_t turn;

	uint32_t renamed; /* the function that it turned out to be, counted from 1; 0: none yet */
	uint32_t number;  /* of its node, while the piece is closed */
};

struct dump_summary_state {
	uint64_t behind; /* the branch that leads on, if it calls or returns */
	uint32_t call;
	uint32_t home;         /* of the tracker */
	uint32_t instructions; /* of the tracker, too */
	uint32_t branch;       /* enum flow_branch */
};

/* To be added to the sums of a call. */
struct dump_summary_sum {
	uint32_t instructions;
	uint32_t call : 24;
	int32_t calls : 8;
};

/* What is added from one state to another. */
struct dump_summary_effect {
	uint32_t first; /* of its sums: each call once, in the order in which they were met */
	uint16_t count;
	uint16_t transfers;
};

/* Zero-initialised is empty. The call with the number 0 stands for where pieces begin; there is no such state or effect. */
struct dump_summary_tree {
	struct dump_summary_call *paths; /* room for all */
	uint32_t call_count;
	struct dump_summary_call *calls; /* of the open piece: these, or a stack */
	struct common_number_table call_numbers;
	uint32_t recent[1 << DUMP_SUMMARY_RECENT_SHIFT]; /* calls that were looked for, by what they are; 0: none */
	/* Which call is entered by a site from another call, below the key of both: see dump_summary_tree_entered. */
	uint64_t entered[1 << DUMP_SUMMARY_ENTERED_SHIFT];
	uint32_t entered_of; /* the base of the runs whose sites these are */
	struct dump_summary_state *states;
	uint32_t state_count, state_capacity; /* with number 0 */
	struct common_number_table state_numbers;
	struct dump_summary_effect *effects;                     /* room for all */
	uint32_t effect_count;                                   /* with number 0 */
	uint32_t recent_effects[1 << DUMP_SUMMARY_RECENT_SHIFT]; /* likewise; 0: none */
	struct dump_summary_sum *sums;                           /* of effects */
	uint32_t sum_count, sum_capacity;
	uint32_t generation; /* changes where numbers become others */

	bool has_states; /* states were asked for since the last piece began */

	/* The open piece: */
	uint32_t turn;
	uint64_t transfers;
	struct flow_step_effects met; /* and calls, in the order in which they were first met */
	uint32_t *nodes;              /* while it is closed: calls in that order, which is that of their nodes */
	uint32_t node_count;
};

void dump_summary_tree_free(struct dump_summary_tree *tree);
/* Sums are those of another piece from now on; where there is much of something, all is forgotten. PTL_NO_MEMORY. */
int dump_summary_tree_begin(struct dump_summary_tree *tree);
/* The piece is closed: adds effects to its sums, and gives numbers to nodes. */
void dump_summary_tree_close(struct dump_summary_tree *tree);
/* The number of a call that is like this. PTL_NO_MEMORY. */
int dump_summary_tree_call(struct dump_summary_tree *tree, const struct dump_summary_call *like, uint32_t *number);
/* The number of a state; 0: there is no room. */
uint32_t dump_summary_tree_state(struct dump_summary_tree *tree, const struct dump_summary_state *like);
/* A number for an effect; 0: there is no room. */
uint32_t dump_summary_tree_effect(struct dump_summary_tree *tree, const struct dump_summary_sum *sums, uint32_t count,
				  uint64_t transfers);

/* Of what a site of runs enters from a call. */
static inline uint64_t dump_summary_tree_key(uint32_t from, uint32_t site)
{
	return ((uint64_t)site << 16 | from) << 16;
}

/* The call that it enters; 0: that has to be looked for. */
static inline uint32_t dump_summary_tree_entered(const struct dump_summary_tree *tree, uint32_t from, uint32_t site)
{
	const uint64_t key = dump_summary_tree_key(from, site);
	const uint64_t found = tree->entered[common_hash_high(key, DUMP_SUMMARY_ENTERED_SHIFT)] ^ key;

	return found <= UINT16_MAX ? (uint32_t)found : 0;
}

/* What is known of sites is of runs with this base, or forgotten. */
static inline void dump_summary_tree_use_sites(struct dump_summary_tree *tree, uint32_t base)
{
	if (__builtin_expect(tree->entered_of == base, 1))
		return;
	tree->entered_of = base;
	memset(tree->entered, 0, sizeof(tree->entered));
}

/* Looks for it, and makes one that is like this where there is none; there is room for it. */
uint32_t dump_summary_tree_enter(struct dump_summary_tree *tree, uint32_t site, const struct dump_summary_call *like);

/* The call, whose sums are of the open piece. */
static inline struct dump_summary_call *dump_summary_tree_meet(struct dump_summary_tree *tree, uint32_t number)
{
	struct dump_summary_call *call = &tree->calls[number];

	if (__builtin_expect(call->turn != tree->turn, 0)) {
		call->turn = tree->turn;
		call->instructions = 0;
		call->calls = 0;
		tree->met.order[tree->met.count++] = number;
	}
	return call;
}

#endif
