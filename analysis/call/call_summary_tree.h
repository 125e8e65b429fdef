/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of a worker's open piece as a tree. Each path of calls has a number that stays valid from piece to piece.
 * Only for code that finds transfers.
 */
#ifndef ANALYSIS_CALL_CALL_SUMMARY_TREE_H
#define ANALYSIS_CALL_CALL_SUMMARY_TREE_H

#include <string.h>

#include "common/number_table.h"
#include "common/vector.h"

/* A piece ends if it needs more calls. This number of calls fits the second-level cache beside other data. */
#define ANALYSIS_SUMMARY_CALLS_MAX (1u << 12)
/* Room for the calls that one more transfer may add. */
#define ANALYSIS_SUMMARY_CALLS_ROOM (ANALYSIS_SUMMARY_CALLS_MAX + 8)

#define ANALYSIS_SUMMARY_RECENT_SHIFT 12  /* log2 */
#define ANALYSIS_SUMMARY_ENTERED_SHIFT 13 /* log2; half of the entries stay free */

/* Size: a cache line. */
struct analysis_summary_call {
	/* Key: */
	uint64_t return_address;
	uint64_t entry;
	uint32_t parent;
	uint32_t function;
	uint32_t flags; /* ANALYSIS_CALL_ flags */
	uint32_t depth;

	/* Sums in the piece with the number `turn`; both sums are 0 in other pieces: */
	uint64_t instructions;
	int64_t calls;
	uint32_t turn;

	uint32_t renamed; /* final function of calls that began in a stub, from 1; 0: unchanged */
	uint32_t number;  /* number of the call's node, in the piece with the number `turn` */
};

/* Zero-initialised: empty. Call 0 stands for the begin of a piece. */
struct analysis_summary_tree {
	struct analysis_summary_call *paths; /* allocated for the maximum */
	uint32_t call_count;
	struct analysis_summary_call *calls; /* calls of the open piece: `paths`, or a stack */
	struct common_number_table call_numbers;
	uint32_t recent[1 << ANALYSIS_SUMMARY_RECENT_SHIFT]; /* cache of calls by hash of the key; 0: empty */
	/* Cache by caller and site: key and, in the low bits, the entered call. See analysis_summary_tree_entered. */
	uint64_t entered[1 << ANALYSIS_SUMMARY_ENTERED_SHIFT];
	uint32_t entered_of; /* base of the runs to which the cached sites belong */

	/* The open piece: */
	uint32_t turn;
	uint64_t transfers;
	uint32_t *nodes; /* calls in the order of their first use; allocated for the maximum */
	uint32_t node_count;
};

void analysis_summary_tree_free(struct analysis_summary_tree *tree);
/* Begins a piece with empty sums. If the table is half full, forgets all calls. Returns 0 or PTL_NO_MEMORY. */
int analysis_summary_tree_begin(struct analysis_summary_tree *tree);
/* Finds or adds the call equal to `like`. Returns 0 or PTL_NO_MEMORY. */
int analysis_summary_tree_call(struct analysis_summary_tree *tree, const struct analysis_summary_call *like,
			       uint32_t *number);
/* Returns the cache key for a site and a calling call. */
static inline uint64_t analysis_summary_tree_key(uint32_t from, uint32_t site)
{
	return ((uint64_t)site << 16 | from) << 16;
}

/* Returns the call that the site enters; 0: not cached. */
static inline uint32_t analysis_summary_tree_entered(const struct analysis_summary_tree *tree, uint32_t from,
						     uint32_t site)
{
	const uint64_t key = analysis_summary_tree_key(from, site);
	const uint64_t found = tree->entered[common_hash_high(key, ANALYSIS_SUMMARY_ENTERED_SHIFT)] ^ key;

	return found <= UINT16_MAX ? (uint32_t)found : 0;
}

/* Clears the cache of sites if they belong to runs with another base. */
static inline void analysis_summary_tree_use_sites(struct analysis_summary_tree *tree, uint32_t base)
{
	if (__builtin_expect(tree->entered_of == base, 1))
		return;
	tree->entered_of = base;
	memset(tree->entered, 0, sizeof(tree->entered));
}

/* Finds the call equal to `like`, or adds it. The caller has reserved room. */
uint32_t analysis_summary_tree_enter(struct analysis_summary_tree *tree, uint32_t site,
				     const struct analysis_summary_call *like);

/* Returns the call, after resetting its sums if they belong to another piece. */
static inline struct analysis_summary_call *analysis_summary_tree_meet(struct analysis_summary_tree *tree,
								       uint32_t number)
{
	struct analysis_summary_call *call = &tree->calls[number];

	if (__builtin_expect(call->turn != tree->turn, 0)) {
		call->turn = tree->turn;
		call->instructions = 0;
		call->calls = 0;
		call->number = tree->node_count;
		tree->nodes[tree->node_count++] = number;
	}
	return call;
}

#endif
