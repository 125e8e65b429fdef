/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks batches: new runs block by block, known runs as a whole. */
#include "analysis/call/transfer_state.h"
#include "common/error.h"
#include "common/vector.h"

/* ---- segments ------------------------------------------------------------------------------------ */

/* Sets the tracker's time to the time of a block. Called only if the time is needed. */
static void reach(struct analysis_walk *walk, size_t block)
{
	const struct flow_batch *batch = walk->batch;
	uint64_t time = 0;

	walk->reached = true;
	while (walk->next_mark < batch->mark_count && batch->marks[walk->next_mark].block <= block)
		time = batch->marks[walk->next_mark++].time;
	if (time)
		walk->tracker->time = time;
}

/* Address range in which branches other than calls and returns make no transfer. */
struct stretch {
	uint64_t first, length;
	uint32_t image;
};

static struct stretch stretch_of(const struct analysis_tracker *tracker)
{
	const struct analysis_code_place *place = &tracker->place;

	/* An invalid image: no range. */
	if (!tracker->placed)
		return (struct stretch){0, 0, FLOW_NONE - 1};
	return (struct stretch){place->first, place->last - place->first, place->image};
}

static struct analysis_leaving leaving_of(const struct flow_block *block)
{
	return (struct analysis_leaving){block->ip + block->size, block->branch, true};
}

/* Takes consecutive blocks without events between. index: of the first block in the batch. */
static void take_blocks(struct analysis_walk *walk, const struct flow_block *const *blocks, size_t count, size_t index)
{
	struct analysis_tracker *tracker = walk->tracker;
	struct stretch stretch = stretch_of(tracker);
	uint8_t branch = tracker->leaving.valid ? tracker->leaving.branch : (uint8_t)FLOW_BRANCH_NONE;
	uint64_t instructions = tracker->instructions;

	for (size_t i = 0; i < count; i++) {
		const struct flow_block *block = blocks[i];

		if (__builtin_expect(branch >= FLOW_BRANCH_CALL || block->ip - stretch.first > stretch.length ||
					     block->image != stretch.image,
				     0)) {
			if (i)
				tracker->leaving = leaving_of(blocks[i - 1]);
			tracker->instructions = instructions;
			reach(walk, index + i);
			analysis_walk_land(walk, block->image, block->ip);
			if (walk->status < 0)
				return;
			stretch = stretch_of(tracker);
			instructions = tracker->instructions;
		}
		branch = block->branch;
		instructions += block->instructions;
	}
	tracker->instructions = instructions;
	tracker->leaving = leaving_of(blocks[count - 1]);
}

/* Takes the first block or event of a segment: only updates the tracker. */
static void take_first(struct analysis_walk *walk, const struct flow_block *block, const struct flow_event *event)
{
	struct analysis_tracker *tracker = walk->tracker;
	struct analysis_transfers *transfers = walk->transfers;

	tracker->first = (struct analysis_first){.valid = true, .is_event = !block, .time = tracker->time};
	walk->transfers = NULL;
	if (block) {
		tracker->first.ip = block->ip;
		tracker->first.image = block->image;
		analysis_walk_land(walk, block->image, block->ip);
		tracker->leaving = leaving_of(block);
		tracker->instructions += block->instructions;
	} else {
		tracker->first.event = *event;
		analysis_walk_event(walk, event);
	}
	walk->transfers = transfers;
}

/* Takes the events before the block with this index. */
static void take_events(struct analysis_walk *walk, size_t block)
{
	const struct flow_batch *batch = walk->batch;

	for (; walk->status == 0 && walk->next_event < batch->event_count &&
	       batch->events[walk->next_event].before <= block;
	     walk->next_event++) {
		const struct flow_event *event = &batch->events[walk->next_event];

		if (!analysis_walk_matters(event))
			continue;
		/* Blocks before the event are not later than the event. */
		if (event->before)
			reach(walk, event->before - 1);
		if (event->time)
			walk->tracker->time = event->time;
		if (walk->tracker->first.valid)
			analysis_walk_event(walk, event);
		else
			take_first(walk, NULL, event);
	}
}

/* Takes consecutive blocks with the events between. index: of the first block in the batch. */
static void take_in_parts(struct analysis_walk *walk, const struct flow_block_run *run, size_t index)
{
	const struct flow_batch *batch = walk->batch;
	size_t at = 0;

	while (walk->status == 0 && at < run->count) {
		size_t count = run->count - at;

		take_events(walk, index);
		if (walk->next_event < batch->event_count && batch->events[walk->next_event].before - index < count)
			count = batch->events[walk->next_event].before - index;
		if (walk->status == 0 && !walk->tracker->first.valid) {
			count = 1;
			reach(walk, index);
			take_first(walk, run->blocks[at], NULL);
		} else if (walk->status == 0) {
			take_blocks(walk, run->blocks + at, count, index);
		}
		at += count;
		index += count;
	}
}

int analysis_transfers_add(struct analysis_transfers *transfers, struct analysis_tracker *tracker,
			   struct analysis_place_cache *cache, const struct flow_segment *segment,
			   const struct flow_batch *batch)
{
	struct analysis_walk walk = {
		.transfers = transfers, .tracker = tracker, .cache = cache, .segment = segment, .batch = batch};
	size_t index = 0;

	analysis_tracker_settle(tracker, cache);
	for (size_t i = 0; walk.status == 0 && i < batch->run_count; i++) {
		take_in_parts(&walk, batch->runs[i], index);
		index += batch->runs[i]->count;
	}
	take_events(&walk, index);
	if (batch->block_count)
		reach(&walk, batch->block_count - 1);
	return walk.status;
}

/* ---- steps: known runs --------------------------------------------------------------------------- */

/* Sets tracker->leaving after passed runs, which ended with neither a call nor a return. */
static void leave_passed(struct analysis_tracker *tracker, const struct flow_step *step)
{
	if (step->passed)
		tracker->leaving = leaving_of(step->passed->blocks[step->passed->count - 1]);
}

/* Takes the flow to the first block of the run, and no further. */
static void take_start(struct analysis_walk *walk, uint32_t image, uint64_t ip)
{
	struct analysis_tracker *tracker = walk->tracker;
	const struct stretch stretch = stretch_of(tracker);

	if ((tracker->leaving.valid && tracker->leaving.branch >= FLOW_BRANCH_CALL) ||
	    ip - stretch.first > stretch.length || image != stretch.image) {
		reach(walk, 0);
		analysis_walk_land(walk, image, ip);
	}
}

/* Takes the blocks after the first block of a run. */
static void take_rest(struct analysis_walk *walk, const struct flow_block_run *run)
{
	const struct flow_block *first = run->blocks[0];

	walk->tracker->leaving = leaving_of(first);
	walk->tracker->instructions += first->instructions;
	if (run->count > 1)
		take_blocks(walk, run->blocks + 1, run->count - 1, 0);
}

/* Stores the transfers of a run. The tracker is at the run's first block. */
static void learn_run(struct analysis_walk *walk, const struct flow_step *step)
{
	struct analysis_transfer_runs *runs = &walk->cache->runs;
	const struct analysis_code_place *from = &walk->tracker->place;
	struct analysis_tracker tracker = *walk->tracker;
	struct analysis_walk draft = *walk;
	const struct flow_block *first = step->run->blocks[0];
	struct analysis_transfer_run known = {.ip = first->ip, .function = ANALYSIS_NO_FUNCTION};
	int64_t behind;

	draft.transfers = &runs->draft;
	draft.transfers->count = 0;
	draft.tracker = &tracker;
	draft.reached = false;
	tracker.instructions = 0;
	take_rest(&draft, step->run);
	walk->status = draft.status;
	if (walk->status == 0)
		walk->status = analysis_transfer_runs_home(runs, from, &known.from);
	if (walk->status == 0)
		walk->status = analysis_transfer_runs_home(runs, &tracker.place, &known.to);
	behind = (int64_t)(tracker.leaving.behind - first->ip);
	if (walk->status < 0 || tracker.instructions > UINT32_MAX || behind != (int32_t)behind)
		return;
	known.instructions = (uint32_t)tracker.instructions;
	known.branch = tracker.leaving.branch & 0xf;
	known.behind = (int32_t)behind;
	known.starts = from->function != ANALYSIS_NO_FUNCTION && first->ip == from->start;
	known.stub = from->flags & ANALYSIS_FUNCTION_STUB ? 1 : 0;
	if (!draft.reached && (known.branch < FLOW_BRANCH_CALL || known.branch == FLOW_BRANCH_RETURN))
		step->marks->home_number = known.from;
	walk->status = analysis_transfer_runs_add(runs, &known, draft.reached, &step->marks->tag);
}

/* Adds transfers of a run, all at the tracker's time. tracker->instructions becomes 0. Returns 0 or PTL_NO_MEMORY. */
static int put_list(struct analysis_transfers *transfers, struct analysis_tracker *tracker,
		    const struct analysis_transfer *list, size_t count)
{
	const int status = COMMON_VECTOR_RESERVE(transfers->list, transfers->capacity, transfers->count + count,
						 "calls");
	struct analysis_transfer *before, *to;

	if (status < 0)
		return status;
	before = analysis_transfers_last(transfers);
	to = transfers->list + transfers->count;
	if (list->kind == ANALYSIS_TRANSFER_RETURN && before &&
	    analysis_walk_is_end_of_leaf(before, list->to, tracker->time, tracker->instructions + list->instructions)) {
		analysis_walk_end_leaf(before, tracker->instructions + list->instructions);
		tracker->instructions = 0;
		list++;
		count--;
	}
	for (size_t i = 0; i < count; i++) {
		to[i] = list[i];
		to[i].time = tracker->time;
	}
	if (count)
		to->instructions += (uint32_t)tracker->instructions;
	transfers->count += count;
	tracker->instructions = 0;
	return 0;
}

/* Takes a known run. The tracker is at its first block. */
static void take_known_run(struct analysis_walk *walk, const struct analysis_transfer_run *known)
{
	const struct analysis_transfer_runs *runs = &walk->cache->runs;
	struct analysis_tracker *tracker = walk->tracker;

	if (known->list)
		reach(walk, 0);
	if (known->count)
		walk->status = put_list(walk->transfers, tracker, analysis_transfer_run_list(runs, known),
					known->count);
	analysis_tracker_end_run(tracker, known);
}

/* Takes a run that is not known yet. */
static void take_unknown_run(struct analysis_walk *walk, const struct flow_step *step)
{
	const struct flow_block *first = step->run->blocks[0];

	if (walk->tracker->first.valid && step->marks->tag) {
		take_start(walk, first->image, first->ip);
		if (walk->status == 0)
			learn_run(walk, step);
		if (walk->status == 0)
			take_rest(walk, step->run);
		return;
	}
	step->marks->tag = ANALYSIS_TRANSFER_RUN_MET;
	take_in_parts(walk, step->run, 0);
}

/* Stores the function of a run that was called. */
static void learn_function(const struct analysis_transfers *transfers, size_t before,
			   struct analysis_transfer_run *known)
{
	const struct analysis_transfer *call = transfers->count > before ? &transfers->list[before] : NULL;

	if (call && call->kind == ANALYSIS_TRANSFER_CALL && call->to == known->ip &&
	    !(call->function_flags & ~ANALYSIS_FUNCTION_STUB))
		known->function = call->function;
}

/* Adds a call of the run, or a return or jump to the run, from the tracker's place. Returns 0 or PTL_NO_MEMORY. */
static int put_known(struct analysis_transfers *transfers, struct analysis_tracker *tracker,
		     const struct analysis_transfer_run *known, const struct analysis_code_place *place, uint8_t kind,
		     unsigned flags)
{
	const int status = COMMON_VECTOR_RESERVE(transfers->list, transfers->capacity, transfers->count + 1, "calls");

	if (status < 0)
		return status;
	transfers->list[transfers->count++] = (struct analysis_transfer){
		.time = tracker->time,
		.to = known->ip,
		.address = kind == ANALYSIS_TRANSFER_CALL ? tracker->leaving.behind : 0,
		.instructions = (uint32_t)tracker->instructions,
		.function = kind == ANALYSIS_TRANSFER_CALL ? known->function : place->function,
		.image = place->image,
		.kind = kind,
		.flags = (uint8_t)(flags | (known->starts ? ANALYSIS_TRANSFER_START : 0)),
		.function_flags = (uint16_t)place->flags,
	};
	return 0;
}

/* Takes the flow to a known run by neither call nor return. Returns 0 or PTL_NO_MEMORY. */
static int jump(struct analysis_transfers *transfers, struct analysis_tracker *tracker,
		const struct analysis_transfer_runs *runs, const struct flow_step *step,
		const struct analysis_transfer_run *known)
{
	const struct analysis_code_place *from = analysis_transfer_run_place(runs, tracker->home_number);
	const struct analysis_code_place *to = analysis_transfer_run_place(runs, known->from);
	const unsigned flags = analysis_walk_jump_flags(from, to, analysis_tracker_branch(tracker, step));
	int status;

	tracker->instructions += step->instructions;
	if (to->image == from->image && known->ip - from->first <= from->last - from->first)
		return 0;
	if (step->time)
		tracker->time = step->time;
	if (analysis_walk_is_same(from, to))
		return 0;
	status = put_known(transfers, tracker, known, to, ANALYSIS_TRANSFER_JUMP, flags);
	tracker->instructions = 0;
	return status;
}

/*
 * Takes the flow from the end of one known run to another, without looking up places. Returns 1; 0, without changes,
 * for branches other than a plain call, return or jump; or PTL_NO_MEMORY.
 */
static inline int come(struct analysis_transfers *transfers, struct analysis_tracker *tracker,
		       const struct analysis_transfer_runs *runs, const struct flow_step *step,
		       const struct analysis_transfer_run *known)
{
	const uint8_t branch = analysis_tracker_way(tracker, step);
	const struct analysis_code_place *place = analysis_transfer_run_place(runs, known->from);
	struct analysis_transfer *before = analysis_transfers_last(transfers);
	int status = 0;

	if (branch < FLOW_BRANCH_CALL) {
		if (__builtin_expect(known->from != tracker->home_number, 0)) {
			status = jump(transfers, tracker, runs, step, known);
			return status < 0 ? status : 1;
		}
		tracker->instructions += step->instructions;
		return 1;
	}
	if (branch != FLOW_BRANCH_RETURN &&
	    ((branch != FLOW_BRANCH_CALL && branch != FLOW_BRANCH_CALL_INDIRECT) ||
	     known->function == ANALYSIS_NO_FUNCTION || tracker->leaving.behind == known->ip))
		return 0;
	tracker->instructions += step->instructions;
	if (step->time)
		tracker->time = step->time;
	if (branch != FLOW_BRANCH_RETURN)
		status = put_known(transfers, tracker, known, place, ANALYSIS_TRANSFER_CALL, 0);
	else if (before && analysis_walk_is_end_of_leaf(before, known->ip, tracker->time, tracker->instructions))
		analysis_walk_end_leaf(before, tracker->instructions);
	else
		status = put_known(transfers, tracker, known, place, ANALYSIS_TRANSFER_RETURN, 0);
	tracker->instructions = 0;
	return status < 0 ? status : 1;
}

/*
 * Takes a step from one known run to another. Returns 1; 0, without changes, if take_slowly is needed; or a negative
 * ptl_status.
 */
static inline int take_quickly(struct analysis_transfers *transfers, struct analysis_tracker *tracker,
			       const struct analysis_transfer_runs *runs, const struct flow_step *step,
			       uint32_t *home_number)
{
	const struct analysis_transfer_run *known = step->run && tracker->home_number
							    ? analysis_transfer_run_find(runs, step->marks->tag)
							    : NULL;
	int status;

	if (!known || !tracker->leaving.valid || !tracker->first.valid ||
	    tracker->instructions + step->instructions > UINT32_MAX / 2)
		return 0;
	status = come(transfers, tracker, runs, step, known);
	if (status <= 0)
		return status;
	if (known->list && step->time)
		tracker->time = step->time;
	if (known->count)
		status = put_list(transfers, tracker, analysis_transfer_run_list(runs, known), known->count);
	analysis_tracker_end_run(tracker, known);
	*home_number = known->branch < FLOW_BRANCH_CALL ? known->to : 0;
	return status < 0 ? status : 1;
}

/* Takes a step whose place must be looked up. Not inline, so the quick path saves no registers. */
static __attribute__((noinline)) int take_slowly(struct analysis_transfers *transfers, struct analysis_tracker *tracker,
						 struct analysis_place_cache *cache, const struct flow_segment *segment,
						 const struct flow_step *step, uint32_t *home_number)
{
	/* The whole step has one time. */
	const struct flow_mark mark = {.time = step->time};
	const struct flow_batch batch = {.marks = &mark, .mark_count = 1};
	struct analysis_walk walk = {
		.transfers = transfers, .tracker = tracker, .cache = cache, .segment = segment, .batch = &batch};
	const size_t before = transfers->count;
	struct analysis_transfer_run *known;

	analysis_tracker_settle(tracker, cache);
	tracker->instructions += step->instructions;
	leave_passed(tracker, step);
	*home_number = 0;
	if (!step->run) {
		reach(&walk, 0);
		return 0;
	}
	analysis_transfer_runs_begin(&cache->runs, segment->process);
	known = analysis_transfer_run_find(&cache->runs, step->marks->tag);
	if (!known || !tracker->first.valid || tracker->instructions > UINT32_MAX / 2) {
		take_unknown_run(&walk, step);
		return walk.status;
	}
	take_start(&walk, analysis_transfer_run_place(&cache->runs, known->from)->image, known->ip);
	if (walk.status == 0)
		take_known_run(&walk, known);
	learn_function(transfers, before, known);
	*home_number = known->branch < FLOW_BRANCH_CALL ? known->to : 0;
	return walk.status;
}

int analysis_transfers_step(struct analysis_transfers *transfers, struct analysis_tracker *tracker,
			    struct analysis_place_cache *cache, const struct flow_segment *segment,
			    const struct flow_step *step, uint32_t *home_number)
{
	const int status = take_quickly(transfers, tracker, &cache->runs, step, home_number);

	return status ? (status < 0 ? status : 0) : take_slowly(transfers, tracker, cache, segment, step, home_number);
}
