/* SPDX-License-Identifier: BSD-2-Clause */
/* Pairs Start and Stop events of activities. */
#include "analysis/event/activity_tree.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/vector.h"

#define NONE ANALYSIS_ACTIVITY_NONE

void analysis_activity_tree_free(struct analysis_activity_tree *tree)
{
	common_byte_map_free(&tree->open);
	free(tree->pairs);
	*tree = (struct analysis_activity_tree){0};
}

/* ---- pairs --------------------------------------------------------------------------------------- */

static uint32_t open_in(const struct analysis_activity_tree *tree, const struct ptl_guid *activity)
{
	const uint64_t *known = common_byte_map_get(&tree->open, activity->bytes, sizeof(activity->bytes));

	return known ? (uint32_t)*known : NONE;
}

static int set_open(struct analysis_activity_tree *tree, const struct ptl_guid *activity, uint32_t pair)
{
	return common_byte_map_put(&tree->open, activity->bytes, sizeof(activity->bytes), pair);
}

static void join_activity(struct analysis_activity_tree *tree, uint32_t child)
{
	const uint32_t parent = tree->pairs[child].parent;
	uint32_t *first = parent == NONE ? &tree->first : &tree->pairs[parent].first_child;
	uint32_t *last = parent == NONE ? &tree->last : &tree->pairs[parent].last_child;

	if (*first == NONE)
		*first = child;
	else
		tree->pairs[*last].next = child;
	*last = child;
}

static int start_activity(struct analysis_activity_tree *tree, const struct ptl_event *event,
			  const struct ptl_schema *schema)
{
	const uint32_t number = (uint32_t)tree->count, under = open_in(tree, &event->activity);
	struct analysis_activity_pair *pair;

	if (tree->count >= NONE || !common_vector_room(&tree->pairs, tree->count, sizeof(*pair)))
		return common_fail_memory("activities", tree->count * sizeof(*pair));
	if (!tree->count)
		tree->first = tree->last = NONE;
	pair = &tree->pairs[tree->count++];
	*pair = (struct analysis_activity_pair){
		.descriptor = event->descriptor,
		.schema = schema,
		.activity = event->activity,
		.start = event->time,
		.pid = event->pid,
		.tid = event->tid,
		.parent = under,
		.first_child = NONE,
		.last_child = NONE,
		.next = NONE,
		.under = under,
	};
	if (under == NONE && (event->flags & PTL_EVENT_HAS_RELATED))
		pair->parent = open_in(tree, &event->related);
	join_activity(tree, number);
	return set_open(tree, &event->activity, number);
}

static bool is_stop_of(const struct analysis_activity_pair *pair, const struct ptl_descriptor *descriptor)
{
	return pair->descriptor.task == descriptor->task &&
	       common_guid_equal(&pair->descriptor.provider, &descriptor->provider);
}

/*
 * Closes the innermost matching pair. Inner pairs that are still open stay without a stop: their Stop event was lost,
 * or a filter of the recording removed it.
 */
static int stop_activity(struct analysis_activity_tree *tree, const struct ptl_event *event)
{
	uint32_t pair = open_in(tree, &event->activity);

	while (pair != NONE && !is_stop_of(&tree->pairs[pair], &event->descriptor))
		pair = tree->pairs[pair].under;
	if (pair == NONE) {
		tree->stray++;
		return 0;
	}
	tree->pairs[pair].stop = event->time;
	return set_open(tree, &event->activity, tree->pairs[pair].under);
}

int analysis_activity_tree_add(struct analysis_activity_tree *tree, const struct ptl_event *event,
			       const struct ptl_schema *schema)
{
	uint32_t pair;

	if (!(event->flags & PTL_EVENT_HAS_ACTIVITY))
		return 0;
	if (event->descriptor.opcode == PTL_OPCODE_START)
		return start_activity(tree, event, schema);
	if (event->descriptor.opcode == PTL_OPCODE_STOP)
		return stop_activity(tree, event);
	pair = open_in(tree, &event->activity);
	if (pair != NONE)
		tree->pairs[pair].events++;
	return 0;
}
