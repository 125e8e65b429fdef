/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks batches: blocks one by one, and runs that were met before as a whole. */
#include "common/error.h"
#include "common/vector.h"
#include "dump/call/transfer_state.h"

/* ---- segments ------------------------------------------------------------------------------------ */

/* The time of a block, which is looked up where somebody asks for it. */
static void reach(struct dump_walk *walk, size_t block)
{
	const struct flow_batch *batch = walk->batch;
	uint64_t time = 0;

	walk->reached = true;
	while (walk->next_mark < batch->mark_count && batch->marks[walk->next_mark].block <= block)
		time = batch->marks[walk->next_mark++].time;
	if (time)
		walk->tracker->time = time;
}

/* How far flow may go without a transfer: within this span, by branches that are neither calls nor returns. */
struct stretch {
	uint64_t first, length;
	uint32_t image;
};

static struct stretch stretch_of(const struct dump_tracker *tracker)
{
	const struct dump_code_place *place = &tracker->place;

	/* An image of which there is none: no stretch. */
	if (!tracker->placed)
		return (struct stretch){0, 0, FLOW_NONE - 1};
	return (struct stretch){place->first, place->last - place->first, place->image};
}

static struct dump_leaving leaving_of(const struct flow_block *block)
{
	return (struct dump_leaving){block->ip + block->size, block->branch, true};
}

/* Blocks one after the other, without events between; index is that of the first in the batch. */
static void take_blocks(struct dump_walk *walk, const struct flow_block *const *blocks, size_t count, size_t index)
{
	struct dump_tracker *tracker = walk->tracker;
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
			dump_walk_land(walk, block->image, block->ip);
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

/* The first of a segment only leaves its traces in the tracker. */
static void take_first(struct dump_walk *walk, const struct flow_block *block, const struct flow_event *event)
{
	struct dump_tracker *tracker = walk->tracker;
	struct dump_transfers *transfers = walk->transfers;

	tracker->first = (struct dump_first){.valid = true, .is_event = !block, .time = tracker->time};
	walk->transfers = NULL;
	if (block) {
		tracker->first.ip = block->ip;
		tracker->first.image = block->image;
		dump_walk_land(walk, block->image, block->ip);
		tracker->leaving = leaving_of(block);
		tracker->instructions += block->instructions;
	} else {
		tracker->first.event = *event;
		dump_walk_event(walk, event);
	}
	walk->transfers = transfers;
}

/* Events that stand before the block of this index. */
static void take_events(struct dump_walk *walk, size_t block)
{
	const struct flow_batch *batch = walk->batch;

	for (; walk->status == 0 && walk->next_event < batch->event_count &&
	       batch->events[walk->next_event].before <= block;
	     walk->next_event++) {
		const struct flow_event *event = &batch->events[walk->next_event];

		if (!dump_walk_matters(event))
			continue;
		if (event->time)
			walk->tracker->time = event->time;
		if (walk->tracker->first.valid)
			dump_walk_event(walk, event);
		else
			take_first(walk, NULL, event);
	}
}

/* ---- runs that were met before ------------------------------------------------------------------- */

/* How far flow goes from the block of this index without an event, and without another time. */
static void look_ahead(struct dump_walk *walk, size_t index)
{
	const struct flow_batch *batch = walk->batch;

	while (walk->clear_mark < batch->mark_count && batch->marks[walk->clear_mark].block <= index)
		walk->clear_mark++;
	walk->clear = walk->clear_mark < batch->mark_count ? batch->marks[walk->clear_mark].block : SIZE_MAX;
	if (walk->next_event < batch->event_count && batch->events[walk->next_event].before < walk->clear)
		walk->clear = batch->events[walk->next_event].before;
}

/* Flow comes to the first block of a run, and no further. */
static void take_start(struct dump_walk *walk, uint32_t image, uint64_t ip, size_t index)
{
	struct dump_tracker *tracker = walk->tracker;
	const struct stretch stretch = stretch_of(tracker);

	if ((tracker->leaving.valid && tracker->leaving.branch >= FLOW_BRANCH_CALL) ||
	    ip - stretch.first > stretch.length || image != stretch.image) {
		reach(walk, index);
		dump_walk_land(walk, image, ip);
	}
}

/* The blocks of a run behind its first one, which flow has come to. */
static void take_rest(struct dump_walk *walk, const struct flow_block_run *run, size_t index)
{
	const struct flow_block *first = run->blocks[0];

	walk->tracker->leaving = leaving_of(first);
	walk->tracker->instructions += first->instructions;
	if (run->count > 1)
		take_blocks(walk, run->blocks + 1, run->count - 1, index + 1);
}

/* Finds the transfers of a run whose first block flow has come to; NULL after a failure. */
static const struct dump_transfer_run *learn(struct dump_walk *walk, const struct flow_block_run *run, size_t index)
{
	struct dump_transfer_runs *runs = &walk->cache->runs;
	struct dump_tracker tracker = *walk->tracker;
	struct dump_walk draft = *walk;
	const struct flow_block *first = run->blocks[0];
	struct dump_transfer_run known = {.run = run, .ip = first->ip, .image = first->image};
	struct dump_transfer_run_more more = {0};
	bool plain;

	draft.transfers = &runs->draft;
	draft.transfers->count = 0;
	draft.tracker = &tracker;
	draft.reached = false;
	tracker.instructions = 0;
	take_rest(&draft, run, index);
	walk->status = draft.status;
	if (draft.status < 0)
		return NULL;
	known.blocks = run->count & DUMP_TRANSFER_RUN_BLOCKS;
	known.instructions = (uint32_t)tracker.instructions & DUMP_TRANSFER_RUN_INSTRUCTIONS;
	known.branch = tracker.leaving.branch & 0xf;
	known.behind = (int32_t)(tracker.leaving.behind - first->ip);
	more.lands = draft.reached;
	more.last = tracker.place;
	plain = !draft.transfers->count && !draft.reached;
	dump_transfer_runs_make_room(runs, draft.transfers->count);
	return dump_transfer_runs_add(runs, known, plain ? NULL : &more);
}

static void add_known(struct dump_walk *walk, const struct dump_transfer *list, size_t count)
{
	struct dump_transfers *transfers = walk->transfers;
	struct dump_tracker *tracker = walk->tracker;
	struct dump_transfer *to;

	walk->status = COMMON_VECTOR_RESERVE(transfers->list, transfers->capacity, transfers->count + count, "calls");
	if (walk->status < 0)
		return;
	to = transfers->list + transfers->count;
	if (list->kind == DUMP_TRANSFER_RETURN && transfers->count &&
	    dump_walk_is_end_of_leaf(to - 1, list->to, tracker->time, tracker->instructions + list->instructions)) {
		dump_walk_end_leaf(to - 1, tracker->instructions + list->instructions);
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
}

/* Flow has come to the first block of a run that is known. */
static void take_known(struct dump_walk *walk, const struct dump_transfer_run *known, size_t index)
{
	const struct dump_transfer_runs *runs = &walk->cache->runs;
	const struct dump_transfer_run_more *more = known->more ? &runs->more[known->more] : NULL;
	struct dump_tracker *tracker = walk->tracker;

	if (more && more->lands)
		reach(walk, index);
	if (more && more->count)
		add_known(walk, runs->list + more->transfers, more->count);
	if (more)
		tracker->place = more->last;
	tracker->instructions += known->instructions;
	tracker->leaving = (struct dump_leaving){known->ip + (uint64_t)(int64_t)known->behind, (uint8_t)known->branch,
						 true};
}

#define AHEAD 8 /* runs whose slots are fetched before they are asked for */

/*
 * Passes runs from number *at on that are known and have no transfers, while flow comes to them by none: most runs.
 * `index` is that of the first block; returns that of the one behind.
 */
static size_t pass_plain(struct dump_walk *walk, size_t *at, size_t index)
{
	const struct dump_transfer_runs *known_runs = &walk->cache->runs;
	const struct flow_block_run *const *runs = walk->batch->runs;
	const size_t count = walk->batch->run_count;
	struct dump_tracker *tracker = walk->tracker;
	const struct stretch stretch = stretch_of(tracker);
	const struct dump_transfer_run *last = NULL;
	uint64_t instructions = tracker->instructions;
	uint8_t branch = tracker->leaving.valid ? tracker->leaving.branch : (uint8_t)FLOW_BRANCH_NONE;
	size_t i = *at;

	for (; i < count && branch < FLOW_BRANCH_CALL; i++) {
		const struct dump_transfer_run *known = dump_transfer_run_first(known_runs, runs[i]);

		__builtin_prefetch(dump_transfer_run_first(known_runs, runs[i + AHEAD < count ? i + AHEAD : i]));
		if (known->run != runs[i] || known->more || known->ip - stretch.first > stretch.length ||
		    known->image != stretch.image || index + known->blocks > walk->clear)
			break;
		instructions += known->instructions;
		index += known->blocks;
		branch = (uint8_t)known->branch;
		last = known;
	}
	tracker->instructions = instructions;
	if (last)
		tracker->leaving = (struct dump_leaving){last->ip + (uint64_t)(int64_t)last->behind, branch, true};
	*at = i;
	return index;
}

/* Whether a run is to be remembered: it was met before, is short, and ends near where it begins. */
static bool is_worth(const struct dump_transfer_runs *runs, const struct flow_block_run *run)
{
	const struct flow_block *first = run->blocks[0], *last = run->blocks[run->count - 1];
	const uint64_t behind = last->ip + last->size - first->ip;

	return dump_transfer_run_met(runs, run) && run->count <= DUMP_TRANSFER_RUN_BLOCKS &&
	       run->instructions <= DUMP_TRANSFER_RUN_INSTRUCTIONS && behind + INT32_MAX <= UINT32_MAX - 1;
}

/* The run is taken block by block, with what stands between. */
static void take_in_parts(struct dump_walk *walk, const struct flow_block_run *run, size_t index)
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

/* A run between whose blocks nothing stands, where it is known or may be remembered; else it is taken in parts. */
static void take_run(struct dump_walk *walk, const struct flow_block_run *run, size_t index)
{
	const struct dump_transfer_run *known = dump_transfer_run_find(&walk->cache->runs, run);

	if (!walk->tracker->first.valid || walk->tracker->instructions > UINT32_MAX / 2 ||
	    index + run->count > walk->clear || (!known->run && !is_worth(&walk->cache->runs, run))) {
		take_in_parts(walk, run, index);
		return;
	}
	take_start(walk, run->blocks[0]->image, run->blocks[0]->ip, index);
	if (walk->status == 0 && !known->run)
		known = learn(walk, run, index);
	if (walk->status == 0)
		take_known(walk, known, index);
}

int dump_transfers_add(struct dump_transfers *transfers, struct dump_tracker *tracker, struct dump_place_cache *cache,
		       const struct flow_segment *segment, const struct flow_batch *batch)
{
	struct dump_walk walk = {transfers, tracker, cache, segment, 0, batch, 0, false, 0, 0, 0};
	size_t index = 0;

	if (batch->generation && batch->run_count)
		walk.status = dump_transfer_runs_begin(&cache->runs, batch->generation, segment->process);
	for (size_t i = 0; walk.status == 0 && i < batch->run_count;) {
		if (batch->generation && tracker->first.valid)
			index = pass_plain(&walk, &i, index);
		if (i == batch->run_count)
			break;
		take_events(&walk, index);
		look_ahead(&walk, index);
		if (walk.status == 0 && batch->generation)
			take_run(&walk, batch->runs[i], index);
		else if (walk.status == 0)
			take_in_parts(&walk, batch->runs[i], index);
		index += batch->runs[i++]->count;
	}
	take_events(&walk, index);
	if (batch->block_count)
		reach(&walk, batch->block_count - 1);
	return walk.status;
}
