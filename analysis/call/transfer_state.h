/* SPDX-License-Identifier: BSD-2-Clause */
/* A walk over blocks and events that finds transfers. Only for code that finds transfers. */
#ifndef ANALYSIS_CALL_TRANSFER_STATE_H
#define ANALYSIS_CALL_TRANSFER_STATE_H

#include "analysis/call/place_cache.h"

struct analysis_walk {
	struct analysis_transfers *transfers; /* NULL: transfers are not recorded */
	struct analysis_tracker *tracker;
	struct analysis_place_cache *cache;
	const struct flow_segment *segment;
	int status;
	const struct flow_batch *batch;
	size_t next_mark;  /* first mark not reached yet */
	bool reached;      /* the time of a block was needed */
	size_t next_event; /* first event not taken yet */
};

/* Handles flow to a traced address. */
void analysis_walk_land(struct analysis_walk *walk, uint32_t image, uint64_t address);
void analysis_walk_event(struct analysis_walk *walk, const struct flow_event *event);
/* Whether the event shows or changes the place of the flow. */
bool analysis_walk_matters(const struct flow_event *event);

/* Whether both places belong to one function, as far as symbols tell. */
static inline bool analysis_walk_is_same(const struct analysis_code_place *a, const struct analysis_code_place *b)
{
	return a->image == b->image && a->function == b->function;
}

/* Returns the branch that leads to the step's run. Call before the step is taken. */
static inline uint8_t analysis_tracker_branch(const struct analysis_tracker *tracker, const struct flow_step *step)
{
	return step->passed ? step->passed->blocks[step->passed->count - 1]->branch : tracker->leaving.branch;
}

/* Returns the branch that leads to the step's run; after passed runs only FLOW_BRANCH_RETURN or FLOW_BRANCH_NONE. */
static inline uint8_t analysis_tracker_way(const struct analysis_tracker *tracker, const struct flow_step *step)
{
	if (!step->passed)
		return tracker->leaving.branch;
	return step->returned ? FLOW_BRANCH_RETURN : FLOW_BRANCH_NONE;
}

/* Returns the transfer flags of a jump by this branch. */
static inline unsigned analysis_walk_jump_flags(const struct analysis_code_place *from,
						const struct analysis_code_place *to, uint8_t branch)
{
	return (branch == FLOW_BRANCH_JUMP_INDIRECT ? ANALYSIS_TRANSFER_INDIRECT : 0) |
	       (from->image != to->image ? ANALYSIS_TRANSFER_FOREIGN : 0);
}

/* Returns the last transfer; NULL without transfers. */
static inline struct analysis_transfer *analysis_transfers_last(const struct analysis_transfers *transfers)
{
	return transfers->count ? &transfers->list[transfers->count - 1] : NULL;
}

/*
 * Whether a plain return to `to` at this time ends the last call: call and return then become one ANALYSIS_TRANSFER_LEAF.
 */
static inline bool analysis_walk_is_end_of_leaf(const struct analysis_transfer *before, uint64_t to, uint64_t time,
						uint64_t instructions)
{
	return before->kind == ANALYSIS_TRANSFER_CALL && before->address == to && before->time == time && to &&
	       !before->function_flags && !(before->flags & ANALYSIS_TRANSFER_OUTSIDE) && instructions <= UINT32_MAX;
}

static inline void analysis_walk_end_leaf(struct analysis_transfer *call, uint64_t instructions)
{
	call->kind = ANALYSIS_TRANSFER_LEAF;
	call->inside = (uint32_t)instructions;
}

#endif
