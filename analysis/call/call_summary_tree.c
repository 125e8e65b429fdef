/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers calls. */
#include "analysis/call/call_summary_tree.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"

/* A table with more calls is cleared before a piece, so a piece can add as many again. */
#define MANY_CALLS (ANALYSIS_SUMMARY_CALLS_MAX / 2)
_Static_assert(ANALYSIS_SUMMARY_CALLS_ROOM <= 1 << 16, "numbers of calls fit below keys of sites");

/*
 * Maximum entries to search for a call, even in a hostile trace. Beyond, a call may be added twice; sums of both are
 * valid.
 */
#define ENTERED_PLACES 8

#define CALL_WORDS (offsetof(struct analysis_summary_call, instructions) / sizeof(uint64_t))

_Static_assert(sizeof(struct analysis_summary_call) == 64, "a cache line");

void analysis_summary_tree_free(struct analysis_summary_tree *tree)
{
	free(tree->paths);
	free(tree->nodes);
	common_number_table_free(&tree->call_numbers);
	*tree = (struct analysis_summary_tree){0};
}

static struct common_numbered calls_of(const struct analysis_summary_tree *tree)
{
	return (struct common_numbered){tree->calls, sizeof(*tree->calls), CALL_WORDS};
}

/* Allocates the maximum: the system provides memory only for touched pages. */
static int make_tree_room(struct analysis_summary_tree *tree)
{
	const size_t calls = ANALYSIS_SUMMARY_CALLS_ROOM;

	if (tree->nodes)
		return 0;
	analysis_summary_tree_free(tree);
	tree->paths = aligned_alloc(sizeof(*tree->paths), calls * sizeof(*tree->paths));
	tree->nodes = calloc(calls, sizeof(*tree->nodes));
	if (tree->paths && tree->nodes)
		return 0;
	analysis_summary_tree_free(tree);
	return common_fail_memory("paths of calls", calls * sizeof(*tree->paths));
}

/* Clears the tables; only call 0 remains. */
static int forget_calls(struct analysis_summary_tree *tree)
{
	const int status = make_tree_room(tree);

	if (status < 0)
		return status;
	tree->paths[0] = (struct analysis_summary_call){.function = UINT32_MAX};
	tree->call_count = 1;
	tree->turn = 0;
	memset(tree->recent, 0, sizeof(tree->recent));
	memset(tree->entered, 0, sizeof(tree->entered));
	common_number_table_clear(&tree->call_numbers);
	return 0;
}

static bool is_much(const struct analysis_summary_tree *tree)
{
	return !tree->call_count || tree->call_count >= MANY_CALLS || tree->turn >= UINT32_MAX - 1;
}

int analysis_summary_tree_begin(struct analysis_summary_tree *tree)
{
	int status = 0;

	if (is_much(tree))
		status = forget_calls(tree);
	if (status < 0)
		return status;
	tree->calls = tree->paths;
	tree->turn++;
	tree->transfers = 0;
	tree->node_count = 0;
	analysis_summary_tree_meet(tree, 0);
	return 0;
}

/* ---- numbers ------------------------------------------------------------------------------------- */

int analysis_summary_tree_call(struct analysis_summary_tree *tree, const struct analysis_summary_call *like,
			       uint32_t *number)
{
	const uint64_t hash = (like->return_address ^ like->entry << 20 ^ (uint64_t)like->parent << 44) + like->entry;
	uint32_t *recent = &tree->recent[common_hash_high(hash, ANALYSIS_SUMMARY_RECENT_SHIFT)];

	*number = *recent;
	if (*number && !memcmp(&tree->calls[*number], like, CALL_WORDS * sizeof(uint64_t)))
		return 0;
	*number = common_number_of(&tree->call_numbers, calls_of(tree), tree->call_count, like);
	if (!*number || *number >= ANALYSIS_SUMMARY_CALLS_ROOM)
		return common_fail_memory("paths of calls", tree->call_count * sizeof(*number));
	if (*number == tree->call_count)
		tree->calls[tree->call_count++] = *like;
	*recent = *number;
	return 0;
}

uint32_t analysis_summary_tree_enter(struct analysis_summary_tree *tree, uint32_t site,
				     const struct analysis_summary_call *like)
{
	const uint64_t key = analysis_summary_tree_key(like->parent, site);
	const size_t first = common_hash_high(key, ANALYSIS_SUMMARY_ENTERED_SHIFT);
	uint64_t *place = NULL;

	for (size_t i = 0; i < ENTERED_PLACES; i++) {
		place = &tree->entered[(first + i) % (1 << ANALYSIS_SUMMARY_ENTERED_SHIFT)];
		if ((*place ^ key) <= UINT16_MAX)
			return (uint32_t)(*place ^ key);
		if (!*place)
			break;
	}
	*place = key | tree->call_count;
	tree->calls[tree->call_count] = *like;
	return tree->call_count++;
}
