/* SPDX-License-Identifier: BSD-2-Clause */
/* Derives transfers from blocks and events. */
#include "analysis/call/transfer.h"

#include <stdlib.h>

#include "analysis/call/transfer_state.h"
#include "common/error.h"
#include "common/vector.h"

/* ---- places -------------------------------------------------------------------------------------- */

/* Returns NULL after a failure, with the error in walk->status. */
static struct analysis_cached_place *find_cached(struct analysis_walk *walk, uint32_t image, uint64_t address)
{
	return analysis_place_cache_find(walk->cache, walk->segment->process, image, address, &walk->status);
}

/* Finds the image at an address that belongs to no block. */
static uint32_t find_image(const struct analysis_walk *walk, uint64_t time, uint64_t address)
{
	const struct flow_segment *segment = walk->segment;
	struct flow_place found;

	if (!time)
		time = segment->time ? segment->time : walk->cache->start_time;
	if (segment->process == FLOW_NONE ||
	    !flow_timeline_find(walk->cache->timeline, segment->process, time, address, &found))
		return FLOW_NONE;
	return found.image;
}

/* ---- transfers ----------------------------------------------------------------------------------- */

static struct analysis_transfer *add_transfer(struct analysis_walk *walk)
{
	struct analysis_transfers *transfers = walk->transfers;

	walk->status = COMMON_VECTOR_RESERVE(transfers->list, transfers->capacity, transfers->count + 1, "calls");
	if (walk->status < 0)
		return NULL;
	return &transfers->list[transfers->count++];
}

static struct analysis_transfer *put_transfer(struct analysis_walk *walk, uint8_t kind, uint32_t instructions)
{
	struct analysis_transfer *transfer = add_transfer(walk);

	if (transfer)
		*transfer = (struct analysis_transfer){
			.time = walk->tracker->time,
			.instructions = instructions,
			.function = ANALYSIS_NO_FUNCTION,
			.image = FLOW_NONE,
			.kind = kind,
		};
	return transfer;
}

/*
 * Adds a transfer with the instructions executed up to it. Returns NULL after a failure, or if walk->transfers is NULL.
 */
static struct analysis_transfer *start_transfer(struct analysis_walk *walk, uint8_t kind)
{
	struct analysis_tracker *tracker = walk->tracker;
	uint64_t instructions = tracker->instructions;

	if (!walk->transfers || walk->status < 0)
		return NULL;
	tracker->instructions = 0;
	/* Instructions beyond UINT32_MAX go to extra transfers of kind 0. */
	for (; instructions > UINT32_MAX; instructions -= UINT32_MAX)
		if (!put_transfer(walk, 0, UINT32_MAX))
			return NULL;
	return put_transfer(walk, kind, (uint32_t)instructions);
}

/* Returns the function at a call's target, nameless if it has no symbol. */
static uint32_t function_of_call(struct analysis_walk *walk, struct analysis_cached_place *place)
{
	if (place->entry == ANALYSIS_NO_FUNCTION)
		walk->status = analysis_functions_nameless(walk->cache->table, walk->segment->process,
							   place->place.image, place->address, &place->entry);
	return place->entry;
}

/* Adds a transfer to a place. */
static void go_to_place(struct analysis_walk *walk, uint8_t kind, unsigned flags, uint64_t address,
			struct analysis_cached_place *place)
{
	struct analysis_transfer *before = walk->transfers ? analysis_transfers_last(walk->transfers) : NULL;
	struct analysis_tracker *tracker = walk->tracker;
	struct analysis_transfer *transfer;

	if (kind == ANALYSIS_TRANSFER_RETURN && !flags && before &&
	    analysis_walk_is_end_of_leaf(before, place->address, tracker->time, tracker->instructions)) {
		analysis_walk_end_leaf(before, tracker->instructions);
		tracker->instructions = 0;
		return;
	}
	transfer = start_transfer(walk, kind);
	if (!transfer)
		return;
	transfer->to = place->address;
	transfer->address = address;
	transfer->image = place->place.image;
	transfer->function_flags = (uint16_t)place->place.flags;
	transfer->function = kind == ANALYSIS_TRANSFER_CALL ? function_of_call(walk, place) : place->place.function;
	transfer->flags = (uint8_t)flags;
	if (place->place.function != ANALYSIS_NO_FUNCTION && place->address == place->place.start)
		transfer->flags |= ANALYSIS_TRANSFER_START;
}

/* ---- place of the flow --------------------------------------------------------------------------- */

static uint8_t kind_of_branch(uint8_t branch)
{
	switch (branch) {
	case FLOW_BRANCH_CALL:
	case FLOW_BRANCH_CALL_INDIRECT:
		return ANALYSIS_TRANSFER_CALL;
	case FLOW_BRANCH_RETURN:
		return ANALYSIS_TRANSFER_RETURN;
	case FLOW_BRANCH_FAR_CALL:
		return ANALYSIS_TRANSFER_FAR_CALL;
	case FLOW_BRANCH_FAR_RETURN:
		return ANALYSIS_TRANSFER_FAR_RETURN;
	default:
		return ANALYSIS_TRANSFER_JUMP;
	}
}

/* Handles flow to an address by neither call nor return. The tracker holds the last place. */
static void move(struct analysis_walk *walk, struct analysis_cached_place *place)
{
	const struct analysis_tracker *tracker = walk->tracker;
	const struct analysis_leaving *leaving = &tracker->leaving;

	if (!tracker->placed) {
		go_to_place(walk, ANALYSIS_TRANSFER_GO_ON, 0, 0, place);
		return;
	}
	if (analysis_walk_is_same(&tracker->place, &place->place))
		return;
	go_to_place(walk, ANALYSIS_TRANSFER_JUMP,
		    analysis_walk_jump_flags(&tracker->place, &place->place,
					     leaving->valid ? leaving->branch : (uint8_t)FLOW_BRANCH_JUMP_INDIRECT),
		    0, place);
}

/* Handles flow to a traced address. */
void analysis_walk_land(struct analysis_walk *walk, uint32_t image, uint64_t address)
{
	struct analysis_tracker *tracker = walk->tracker;
	const struct analysis_leaving *leaving = &tracker->leaving;
	const uint8_t kind = leaving->valid ? kind_of_branch(leaving->branch) : ANALYSIS_TRANSFER_JUMP;
	struct analysis_cached_place *place;

	if (kind == ANALYSIS_TRANSFER_JUMP && tracker->placed && tracker->place.image == image &&
	    address >= tracker->place.first && address <= tracker->place.last)
		return;
	place = find_cached(walk, image, address);
	if (!place)
		return;
	/* Position-independent code calls the instruction after the call, to learn its own address. */
	if (kind == ANALYSIS_TRANSFER_JUMP || (kind == ANALYSIS_TRANSFER_CALL && address == leaving->behind))
		move(walk, place);
	else if (kind != ANALYSIS_TRANSFER_FAR_CALL || address != leaving->behind)
		go_to_place(walk, kind, 0, kind == ANALYSIS_TRANSFER_RETURN ? 0 : leaving->behind, place);
	tracker->place = place->place;
	tracker->placed = true;
}

/* Forgets the last branch: an event leads to the next place. */
static void forget_branch(struct analysis_tracker *tracker)
{
	tracker->leaving.valid = false;
}

/* ---- events -------------------------------------------------------------------------------------- */

/* Finds the place of an address in an event. Returns NULL after a failure. */
static struct analysis_cached_place *place_of(struct analysis_walk *walk, const struct flow_event *event,
					      uint64_t address)
{
	return find_cached(walk, find_image(walk, event->time, address), address);
}

/* The last branch leaves the traced code. */
static void leave_traced_code(struct analysis_walk *walk, const struct flow_event *event)
{
	const struct analysis_leaving *leaving = &walk->tracker->leaving;
	const uint8_t kind = kind_of_branch(leaving->branch);
	struct analysis_transfer *transfer;
	struct analysis_cached_place *place;

	if (!leaving->valid || kind == ANALYSIS_TRANSFER_FAR_CALL || kind == ANALYSIS_TRANSFER_FAR_RETURN)
		return;
	if (event->flags & FLOW_EVENT_HAS_TO) {
		place = place_of(walk, event, event->to);
		if (place)
			go_to_place(walk, kind,
				    ANALYSIS_TRANSFER_OUTSIDE | ANALYSIS_TRANSFER_INDIRECT | ANALYSIS_TRANSFER_FOREIGN,
				    leaving->behind, place);
		return;
	}
	if (kind == ANALYSIS_TRANSFER_JUMP)
		return;
	transfer = start_transfer(walk, kind);
	if (!transfer)
		return;
	transfer->address = leaving->behind;
	transfer->flags = ANALYSIS_TRANSFER_OUTSIDE;
}

static void add_pause(struct analysis_walk *walk, unsigned flags, uint64_t address)
{
	struct analysis_transfer *transfer = start_transfer(walk, ANALYSIS_TRANSFER_PAUSE);

	if (transfer) {
		transfer->address = address;
		transfer->flags = (uint8_t)flags;
	}
	forget_branch(walk->tracker);
}

static void take_disabled(struct analysis_walk *walk, const struct flow_event *event)
{
	const struct analysis_leaving leaving = walk->tracker->leaving;

	leave_traced_code(walk, event);
	if (leaving.valid && leaving.branch == FLOW_BRANCH_FAR_CALL)
		add_pause(walk, ANALYSIS_TRANSFER_KERNEL, leaving.behind);
	else
		add_pause(walk, 0, 0);
}

static void take_enabled(struct analysis_walk *walk, const struct flow_event *event)
{
	struct analysis_cached_place *place = place_of(walk, event, event->to);

	if (!place)
		return;
	go_to_place(walk, ANALYSIS_TRANSFER_RESUME, 0, 0, place);
	walk->tracker->place = place->place;
	walk->tracker->placed = true;
	forget_branch(walk->tracker);
}

/* The instruction at `from` was not executed: an event came first. */
static void interrupt_at(struct analysis_walk *walk, const struct flow_event *event)
{
	const struct analysis_tracker *tracker = walk->tracker;

	if (event->flags & FLOW_EVENT_HAS_FROM && (tracker->placed || tracker->leaving.valid))
		analysis_walk_land(walk, find_image(walk, event->time, event->from), event->from);
	forget_branch(walk->tracker);
}

static void take_interrupt(struct analysis_walk *walk, const struct flow_event *event)
{
	struct analysis_cached_place *place;

	interrupt_at(walk, event);
	place = place_of(walk, event, event->to);
	if (!place)
		return;
	go_to_place(walk, ANALYSIS_TRANSFER_INTERRUPT, 0, event->from, place);
	walk->tracker->place = place->place;
	walk->tracker->placed = true;
}

void analysis_walk_event(struct analysis_walk *walk, const struct flow_event *event)
{
	switch (event->kind) {
	case FLOW_ENABLED:
		take_enabled(walk, event);
		break;
	case FLOW_DISABLED:
	case FLOW_STOPPED:
		take_disabled(walk, event);
		break;
	case FLOW_ASYNC_DISABLED:
		interrupt_at(walk, event);
		add_pause(walk, ANALYSIS_TRANSFER_KERNEL, event->from);
		break;
	case FLOW_ASYNC_BRANCH:
		take_interrupt(walk, event);
		break;
	case FLOW_GAP:
		start_transfer(walk, ANALYSIS_TRANSFER_GAP);
		forget_branch(walk->tracker);
		walk->tracker->placed = false;
		break;
	default:
		/* An aborted transaction resumes at another place. */
		forget_branch(walk->tracker);
		break;
	}
}

/* Whether the event shows or changes the place of the flow. */
bool analysis_walk_matters(const struct flow_event *event)
{
	switch (event->kind) {
	case FLOW_ENABLED:
	case FLOW_DISABLED:
	case FLOW_STOPPED:
	case FLOW_ASYNC_DISABLED:
	case FLOW_ASYNC_BRANCH:
	case FLOW_GAP:
		return true;
	case FLOW_TSX:
		return event->value == FLOW_TSX_ABORTED;
	default:
		return false;
	}
}

int analysis_transfers_join(struct analysis_transfers *transfers, const struct analysis_tracker *before,
			    const struct analysis_first *first, struct analysis_place_cache *cache,
			    const struct flow_segment *segment)
{
	struct analysis_tracker tracker = *before;
	struct analysis_walk walk = {.transfers = transfers, .tracker = &tracker, .cache = cache, .segment = segment};

	tracker.instructions = 0;
	tracker.time = first->time;
	if (first->is_event)
		analysis_walk_event(&walk, &first->event);
	else
		analysis_walk_land(&walk, first->image, first->ip);
	return walk.status;
}
