/* SPDX-License-Identifier: BSD-2-Clause */
/* The tree of activities: pairs of start and stop events, with durations. */
#ifndef ANALYSIS_EVENT_ACTIVITY_TREE_H
#define ANALYSIS_EVENT_ACTIVITY_TREE_H

#include <ptl/reader.h>

#include "analysis/event/event_names.h"
#include "common/hash_map.h"
#include "flow/timeline/timeline.h"

#define ANALYSIS_ACTIVITY_NONE UINT32_MAX

/*
 * A pair: a Start event and the matching Stop event of the same activity, provider and task. Pairs of an activity nest:
 * the last start is stopped first. Parent of a pair: the innermost open pair of its own activity. The first pair of an
 * activity with a related activity belongs to the innermost open pair of the related activity.
 */
struct analysis_activity_pair {
	struct ptl_descriptor descriptor; /* of the Start event */
	const struct ptl_schema *schema;  /* or NULL */
	struct ptl_guid activity;
	uint64_t start, stop; /* times of the events; stop is 0 if the Stop event is missing */
	uint64_t events;      /* other events of the activity while this pair was the innermost open pair */
	uint32_t pid, tid;
	uint32_t parent; /* index, or ANALYSIS_ACTIVITY_NONE, like the members below */
	uint32_t first_child, last_child, next;
	uint32_t under; /* pair of the same activity that was open before this pair */
};

/* A zero-initialised tree is empty. */
struct analysis_activity_tree {
	struct common_byte_map open; /* for each activity: the innermost open pair, or ANALYSIS_ACTIVITY_NONE */
	struct analysis_activity_pair *pairs;
	size_t count;
	uint32_t first, last; /* pairs without a parent; valid if count > 0 */
	uint64_t stray;       /* Stop events without a Start event */
};

/* Adds an event. Events without an activity are ignored. Returns 0 or PTL_NO_MEMORY. */
int analysis_activity_tree_add(struct analysis_activity_tree *tree, const struct ptl_event *event,
			       const struct ptl_schema *schema);
void analysis_activity_tree_free(struct analysis_activity_tree *tree);

#endif
