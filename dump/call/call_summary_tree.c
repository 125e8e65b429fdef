/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives calls and states their numbers. */
#include "dump/call/call_summary_tree.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"

/* So many are forgotten before a piece, which then has room for as many more. */
#define MANY_CALLS (DUMP_SUMMARY_CALLS_MAX / 2)
#define MANY_STATES (DUMP_SUMMARY_STATES_MAX / 2)

#define CALL_WORDS (offsetof(struct dump_summary_call, renamed) / sizeof(uint64_t))
#define STATE_WORDS (sizeof(struct dump_summary_state) / sizeof(uint64_t))

_Static_assert(DUMP_SUMMARY_CALLS_MAX < FLOW_STEP_PLACES, "calls are places");
_Static_assert(sizeof(struct dump_summary_state) == STATE_WORDS * sizeof(uint64_t), "all of a state is its key");

void dump_summary_tree_free(struct dump_summary_tree *tree)
{
	free(tree->calls);
	free(tree->states);
	common_number_table_free(&tree->call_numbers);
	common_number_table_free(&tree->state_numbers);
	free(tree->sums.places);
	free(tree->sums.order);
	*tree = (struct dump_summary_tree){0};
}

static struct common_numbered calls_of(const struct dump_summary_tree *tree)
{
	return (struct common_numbered){tree->calls, sizeof(*tree->calls), CALL_WORDS};
}

static struct common_numbered states_of(const struct dump_summary_tree *tree)
{
	return (struct common_numbered){tree->states, sizeof(*tree->states), STATE_WORDS};
}

/* Sums of calls that there is room for now. */
static int make_places(struct dump_summary_tree *tree, uint32_t before)
{
	struct flow_step_sums *sums = &tree->sums;
	struct flow_step_place *places = realloc(sums->places, tree->call_capacity * sizeof(*places));
	uint32_t *order;

	sums->places = places ? places : sums->places;
	order = places ? realloc(sums->order, tree->call_capacity * sizeof(*order)) : NULL;
	sums->order = order ? order : sums->order;
	if (!order) {
		tree->call_capacity = before;
		return common_fail_memory("paths of calls", tree->call_capacity * sizeof(*places));
	}
	memset(places + before, 0, (tree->call_capacity - before) * sizeof(*places));
	return 0;
}

static int make_room(struct dump_summary_tree *tree)
{
	const uint32_t before = tree->call_capacity;
	int status = COMMON_VECTOR_RESERVE(tree->calls, tree->call_capacity, tree->call_count + 1, "paths of calls");

	if (status == 0 && tree->call_capacity != before)
		status = make_places(tree, before);
	return status;
}

/* Without calls but the first. */
static int forget(struct dump_summary_tree *tree)
{
	int status;

	tree->call_count = 0;
	tree->state_count = 1;
	tree->generation++;
	tree->sums.turn = 0;
	if (tree->sums.places)
		memset(tree->sums.places, 0, tree->call_capacity * sizeof(*tree->sums.places));
	common_number_table_clear(&tree->call_numbers);
	common_number_table_clear(&tree->state_numbers);
	status = make_room(tree);
	if (status == 0)
		tree->calls[tree->call_count++] = (struct dump_summary_call){.function = UINT32_MAX};
	return status;
}

int dump_summary_tree_begin(struct dump_summary_tree *tree)
{
	struct flow_step_sums *sums = &tree->sums;
	int status = 0;

	if (!tree->call_count || tree->call_count >= MANY_CALLS || tree->state_count >= MANY_STATES ||
	    sums->turn == UINT32_MAX)
		status = forget(tree);
	if (status < 0)
		return status;
	sums->turn++;
	sums->count = 0;
	sums->transfers = 0;
	flow_step_meet(sums, 0);
	return 0;
}

int dump_summary_tree_call(struct dump_summary_tree *tree, const struct dump_summary_call *like, uint32_t *number)
{
	const int status = make_room(tree);

	if (status < 0)
		return status;
	*number = common_number_of(&tree->call_numbers, calls_of(tree), tree->call_count, like);
	if (!*number)
		return common_fail_memory("paths of calls", tree->call_count * sizeof(*number));
	if (*number == tree->call_count)
		tree->calls[tree->call_count++] = *like;
	return 0;
}

uint32_t dump_summary_tree_state(struct dump_summary_tree *tree, const struct dump_summary_state *like)
{
	uint32_t number;

	if (tree->state_count >= DUMP_SUMMARY_STATES_MAX ||
	    !COMMON_VECTOR_GROW(tree->states, tree->state_capacity, tree->state_count + 1))
		return 0;
	number = common_number_of(&tree->state_numbers, states_of(tree), tree->state_count, like);
	if (number == tree->state_count)
		tree->states[tree->state_count++] = *like;
	return number;
}
