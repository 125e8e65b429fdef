/* SPDX-License-Identifier: BSD-2-Clause */
/* What activities did: pairs of start and stop events, as a tree, each with its duration. */
#ifndef DUMP_EVENT_ACTIVITY_TREE_H
#define DUMP_EVENT_ACTIVITY_TREE_H

#include <ptl/reader.h>

#include "common/hash_map.h"
#include "dump/print/event_names.h"
#include "dump/session/command.h"
#include "flow/timeline/timeline.h"

#define DUMP_ACTIVITY_NONE UINT32_MAX

/*
 * A pair, from an event with the opcode Start to the next one with Stop of the same activity, provider and task; what was
 * started first is stopped last. It is part of the pair that was open last in its own activity or, where it begins an
 * activity that names a related one, in that.
 */
struct dump_activity_pair {
	struct ptl_descriptor descriptor; /* of the start */
	const struct ptl_schema *schema;  /* or NULL */
	struct ptl_guid activity;
	uint64_t start, stop; /* stop: 0 where none came */
	uint64_t events;      /* others of the activity while it was open, and nothing in it was */
	uint32_t pid, tid;
	uint32_t parent; /* index, or DUMP_ACTIVITY_NONE; so are those below */
	uint32_t first_child, last_child, next;
	uint32_t under; /* what was open in the activity before it */
};

/* Zero-initialised is empty. */
struct dump_activity_tree {
	struct common_byte_map open; /* of each activity: the pair that was opened last, or DUMP_ACTIVITY_NONE */
	struct dump_activity_pair *pairs;
	size_t count;
	uint32_t first, last; /* without a parent, once there are pairs */
	uint64_t stray;       /* stops without a start */
};

/* Events without an activity do not matter. PTL_NO_MEMORY. */
int dump_activity_tree_add(struct dump_activity_tree *tree, const struct ptl_event *event,
			   const struct ptl_schema *schema);
/* A line, or an object, for each pair, children behind their parent. PTL_NO_MEMORY. */
int dump_activity_tree_print(const struct dump_activity_tree *tree, struct dump_session *session,
			     const struct dump_names *names, const struct flow_timeline *timeline);
void dump_activity_tree_free(struct dump_activity_tree *tree);

#endif
