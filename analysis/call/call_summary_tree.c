/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers calls, states and effects. */
#include "analysis/call/call_summary_tree.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"

/* Tables with more entries are cleared before a piece, so a piece can add as many again. */
#define MANY_CALLS (ANALYSIS_SUMMARY_CALLS_MAX / 2)
#define MANY_STATES (ANALYSIS_SUMMARY_STATES_MAX / 2)
#define MANY_EFFECTS (ANALYSIS_SUMMARY_EFFECTS_MAX / 2)
#define SUMS_MAX (1u << 20)
_Static_assert(ANALYSIS_SUMMARY_CALLS_ROOM <= 1 << 16, "numbers of calls fit below keys of sites");

/*
 * Maximum entries to search for a call, even in a hostile trace. Beyond, a call may be added twice; sums of both are
 * valid.
 */
#define ENTERED_PLACES 8

#define CALL_WORDS (offsetof(struct analysis_summary_call, instructions) / sizeof(uint64_t))
#define STATE_WORDS (sizeof(struct analysis_summary_state) / sizeof(uint64_t))

_Static_assert(sizeof(struct analysis_summary_call) == 64, "a cache line");
_Static_assert(sizeof(struct analysis_summary_sum) == sizeof(uint64_t), "a word is its key");
_Static_assert(sizeof(struct analysis_summary_state) == STATE_WORDS * sizeof(uint64_t), "all of a state is its key");

void analysis_summary_tree_free(struct analysis_summary_tree *tree)
{
	free(tree->paths);
	free(tree->states);
	free(tree->effects);
	free(tree->sums);
	free(tree->used.counts);
	free(tree->used.order);
	free(tree->nodes);
	common_number_table_free(&tree->call_numbers);
	common_number_table_free(&tree->state_numbers);
	*tree = (struct analysis_summary_tree){0};
}

static struct common_numbered calls_of(const struct analysis_summary_tree *tree)
{
	return (struct common_numbered){tree->calls, sizeof(*tree->calls), CALL_WORDS};
}

static struct common_numbered states_of(const struct analysis_summary_tree *tree)
{
	return (struct common_numbered){tree->states, sizeof(*tree->states), STATE_WORDS};
}

/* Allocates the maximum: the system provides memory only for touched pages. */
static int make_tree_room(struct analysis_summary_tree *tree)
{
	const size_t calls = ANALYSIS_SUMMARY_CALLS_ROOM, effects = ANALYSIS_SUMMARY_EFFECTS_MAX;

	if (tree->nodes)
		return 0;
	analysis_summary_tree_free(tree);
	tree->paths = aligned_alloc(sizeof(*tree->paths), calls * sizeof(*tree->paths));
	tree->effects = calloc(effects, sizeof(*tree->effects));
	tree->used.counts = calloc(effects, sizeof(*tree->used.counts));
	tree->used.order = calloc(calls + effects + 1, sizeof(*tree->used.order));
	tree->nodes = calloc(calls, sizeof(*tree->nodes));
	if (tree->paths && tree->effects && tree->used.counts && tree->used.order && tree->nodes)
		return 0;
	analysis_summary_tree_free(tree);
	return common_fail_memory("paths of calls", calls * sizeof(*tree->paths));
}

/* Clears all tables; only call 0 remains. */
static int forget_calls(struct analysis_summary_tree *tree)
{
	const int status = make_tree_room(tree);

	if (status < 0)
		return status;
	tree->paths[0] = (struct analysis_summary_call){.function = UINT32_MAX};
	tree->call_count = tree->state_count = tree->effect_count = 1;
	tree->sum_count = 0;
	tree->generation++;
	tree->turn = 0;
	memset(tree->recent, 0, sizeof(tree->recent));
	memset(tree->entered, 0, sizeof(tree->entered));
	memset(tree->recent_effects, 0, sizeof(tree->recent_effects));
	common_number_table_clear(&tree->call_numbers);
	common_number_table_clear(&tree->state_numbers);
	return 0;
}

/* Resets the counts of all effects. */
static void forget_counts(struct analysis_summary_tree *tree)
{
	for (uint32_t i = 0; i < tree->used.count; i++)
		if (tree->used.order[i] & FLOW_STEP_EFFECT)
			tree->used.counts[tree->used.order[i] & ~FLOW_STEP_EFFECT] = 0;
	tree->used.count = 0;
}

static bool is_much(const struct analysis_summary_tree *tree)
{
	return !tree->call_count || tree->call_count >= MANY_CALLS || tree->state_count >= MANY_STATES ||
	       tree->effect_count >= MANY_EFFECTS || tree->sum_count >= SUMS_MAX / 2 || tree->turn >= UINT32_MAX - 2;
}

int analysis_summary_tree_begin(struct analysis_summary_tree *tree)
{
	int status = 0;

	/* The last piece may not have been closed. */
	forget_counts(tree);
	if (is_much(tree))
		status = forget_calls(tree);
	if (status < 0)
		return status;
	tree->calls = tree->paths;
	/* turn + 1 marks calls with nodes. */
	tree->turn += 2;
	tree->transfers = 0;
	analysis_summary_tree_meet(tree, 0);
	return 0;
}

/* ---- nodes --------------------------------------------------------------------------------------- */

static struct analysis_summary_call *put_node(struct analysis_summary_tree *tree, uint32_t number)
{
	struct analysis_summary_call *call = &tree->calls[number];

	if (call->turn > tree->turn)
		return call;
	if (call->turn < tree->turn) {
		call->instructions = 0;
		call->calls = 0;
	}
	call->turn = tree->turn + 1;
	call->number = tree->node_count;
	tree->nodes[tree->node_count++] = number;
	return call;
}

static void add_effect(struct analysis_summary_tree *tree, uint32_t number, uint64_t count)
{
	const struct analysis_summary_effect *effect = &tree->effects[number];

	tree->transfers += effect->transfers * count;
	for (uint32_t i = effect->first; i < effect->first + effect->count; i++) {
		const struct analysis_summary_sum *sum = &tree->sums[i];
		struct analysis_summary_call *call = put_node(tree, sum->call);

		call->instructions += sum->instructions * count;
		call->calls += sum->calls * (int64_t)count;
	}
}

void analysis_summary_tree_close(struct analysis_summary_tree *tree)
{
	tree->node_count = 0;
	for (uint32_t i = 0; i < tree->used.count; i++) {
		const uint32_t number = tree->used.order[i];

		if (number & FLOW_STEP_EFFECT)
			add_effect(tree, number & ~FLOW_STEP_EFFECT, tree->used.counts[number & ~FLOW_STEP_EFFECT]);
		else
			put_node(tree, number);
	}
	forget_counts(tree);
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

static bool is_effect(const struct analysis_summary_tree *tree, uint32_t number,
		      const struct analysis_summary_sum *sums, uint32_t count, uint64_t transfers)
{
	const struct analysis_summary_effect *effect = &tree->effects[number];

	return effect->count == count && effect->transfers == transfers &&
	       !memcmp(tree->sums + effect->first, sums, count * sizeof(*sums));
}

/* Many steps have the same effect, so the cache finds most effects. */
uint32_t analysis_summary_tree_effect(struct analysis_summary_tree *tree, const struct analysis_summary_sum *sums,
				      uint32_t count, uint64_t transfers)
{
	uint64_t hash = transfers;
	uint32_t *recent;

	for (uint32_t i = 0; i < count; i++)
		hash = common_hash_mix(hash ^ common_number_word(&sums[i], 0));
	recent = &tree->recent_effects[common_hash_high(hash, ANALYSIS_SUMMARY_RECENT_SHIFT)];
	if (*recent && is_effect(tree, *recent, sums, count, transfers))
		return *recent;
	if (tree->effect_count >= ANALYSIS_SUMMARY_EFFECTS_MAX || tree->sum_count + count > SUMS_MAX ||
	    transfers > UINT16_MAX || !COMMON_VECTOR_GROW(tree->sums, tree->sum_capacity, tree->sum_count + count + 1))
		return 0;
	tree->effects[tree->effect_count] = (struct analysis_summary_effect){tree->sum_count, (uint16_t)count,
									     (uint16_t)transfers};
	memcpy(tree->sums + tree->sum_count, sums, count * sizeof(*sums));
	tree->sum_count += count;
	*recent = tree->effect_count++;
	return *recent;
}

uint32_t analysis_summary_tree_state(struct analysis_summary_tree *tree, const struct analysis_summary_state *like)
{
	uint32_t number;

	if (tree->state_count >= ANALYSIS_SUMMARY_STATES_MAX ||
	    !COMMON_VECTOR_GROW(tree->states, tree->state_capacity, tree->state_count + 1))
		return 0;
	number = common_number_of(&tree->state_numbers, states_of(tree), tree->state_count, like);
	if (number == tree->state_count)
		tree->states[tree->state_count++] = *like;
	return number;
}
