/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks blocks and events, and keeps what calls are made of. */
#include "dump/analysis/transfer.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"

#define CACHE_BITS 14
#define CACHE_SIZE ((size_t)1 << CACHE_BITS)

struct cached {
	struct dump_code_place place;
	uint64_t address;
	uint32_t process;
	uint32_t entry; /* the function for who calls this address; DUMP_NO_FUNCTION: not asked yet */
	bool valid;
};

struct dump_place_cache {
	const struct flow_timeline *timeline;
	struct dump_function_table *table;
	uint64_t start_time;
	struct cached *slots;
};

/* What the functions below work on. */
struct walk {
	struct dump_transfers *transfers; /* NULL: nothing is to be added */
	struct dump_tracker *tracker;
	struct dump_place_cache *cache;
	const struct flow_segment *segment;
	int status;
	const struct flow_batch *batch;
	size_t next_mark; /* the first that has not been reached */
};

void dump_transfers_free(struct dump_transfers *transfers)
{
	free(transfers->list);
	*transfers = (struct dump_transfers){0};
}

/* ---- places -------------------------------------------------------------------------------------- */

struct dump_place_cache *dump_place_cache_new(const struct flow_timeline *timeline, struct dump_function_table *table,
					      uint64_t start_time)
{
	struct dump_place_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	cache->timeline = timeline;
	cache->table = table;
	cache->start_time = start_time;
	cache->slots = calloc(CACHE_SIZE, sizeof(*cache->slots));
	if (cache->slots)
		return cache;
	free(cache);
	return NULL;
}

void dump_place_cache_free(struct dump_place_cache *cache)
{
	if (!cache)
		return;
	free(cache->slots);
	free(cache);
}

/* NULL after a failure, which is in walk->status. */
static struct cached *find_cached(struct walk *walk, uint32_t image, uint64_t address)
{
	const uint64_t mixed = (address ^ (uint64_t)image << 40) * 0x9e3779b97f4a7c15;
	struct cached *slot = &walk->cache->slots[mixed >> (64 - CACHE_BITS)];

	if (slot->valid && slot->address == address && slot->place.image == image &&
	    slot->process == walk->segment->process)
		return slot;
	slot->valid = false;
	walk->status = dump_functions_place(walk->cache->table, image, address, &slot->place);
	if (walk->status < 0)
		return NULL;
	slot->address = address;
	slot->process = walk->segment->process;
	slot->entry = slot->place.function;
	slot->valid = true;
	return slot;
}

/* The image at an address that no block tells it of. */
static uint32_t find_image(const struct walk *walk, uint64_t time, uint64_t address)
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

static struct dump_transfer *add(struct walk *walk)
{
	struct dump_transfers *transfers = walk->transfers;

	walk->status = COMMON_VECTOR_RESERVE(transfers->list, transfers->capacity, transfers->count + 1, "calls");
	if (walk->status < 0)
		return NULL;
	return &transfers->list[transfers->count++];
}

static struct dump_transfer *put(struct walk *walk, uint8_t kind, uint32_t instructions)
{
	struct dump_transfer *transfer = add(walk);

	if (transfer)
		*transfer = (struct dump_transfer){
			.time = walk->tracker->time,
			.instructions = instructions,
			.function = DUMP_NO_FUNCTION,
			.image = FLOW_NONE,
			.kind = kind,
		};
	return transfer;
}

/* The next transfer, with what was executed up to it; NULL where none is wanted, or after a failure. */
static struct dump_transfer *start(struct walk *walk, uint8_t kind)
{
	struct dump_tracker *tracker = walk->tracker;
	uint64_t instructions = tracker->instructions;

	if (!walk->transfers || walk->status < 0)
		return NULL;
	tracker->instructions = 0;
	/* More than a transfer can report is reported by some that do nothing else. */
	for (; instructions > UINT32_MAX; instructions -= UINT32_MAX)
		if (!put(walk, 0, UINT32_MAX))
			return NULL;
	return put(walk, kind, (uint32_t)instructions);
}

/* Where calls lead there is a function, whether it has a name or not. */
static uint32_t function_of_call(struct walk *walk, struct cached *place)
{
	if (place->entry == DUMP_NO_FUNCTION)
		walk->status = dump_functions_nameless(walk->cache->table, walk->segment->process, place->place.image,
						       place->address, &place->entry);
	return place->entry;
}

/* A transfer to a place. */
static void go(struct walk *walk, uint8_t kind, unsigned flags, uint64_t address, struct cached *place)
{
	struct dump_transfer *transfer = start(walk, kind);

	if (!transfer)
		return;
	transfer->to = place->address;
	transfer->address = address;
	transfer->image = place->place.image;
	transfer->function_flags = (uint16_t)place->place.flags;
	transfer->function = kind == DUMP_TRANSFER_CALL ? function_of_call(walk, place) : place->place.function;
	transfer->flags = (uint8_t)flags;
	if (place->place.function != DUMP_NO_FUNCTION && place->address == place->place.start)
		transfer->flags |= DUMP_TRANSFER_START;
}

/* ---- where flow goes on -------------------------------------------------------------------------- */

static uint8_t kind_of_branch(uint8_t branch)
{
	switch (branch) {
	case FLOW_BRANCH_CALL:
	case FLOW_BRANCH_CALL_INDIRECT:
		return DUMP_TRANSFER_CALL;
	case FLOW_BRANCH_RETURN:
		return DUMP_TRANSFER_RETURN;
	case FLOW_BRANCH_FAR_CALL:
		return DUMP_TRANSFER_FAR_CALL;
	case FLOW_BRANCH_FAR_RETURN:
		return DUMP_TRANSFER_FAR_RETURN;
	default:
		return DUMP_TRANSFER_JUMP;
	}
}

/* Whether both are of one function, as far as names tell. */
static bool is_same(const struct dump_code_place *a, const struct dump_code_place *b)
{
	return a->image == b->image && a->function == b->function;
}

/* Flow goes on at an address, by no call or return; what it was before is in the tracker. */
static void move(struct walk *walk, struct cached *place)
{
	const struct dump_tracker *tracker = walk->tracker;
	const struct dump_leaving *leaving = &tracker->leaving;
	unsigned flags = 0;

	if (!tracker->placed) {
		go(walk, DUMP_TRANSFER_GO_ON, 0, 0, place);
		return;
	}
	if (is_same(&tracker->place, &place->place))
		return;
	if (!leaving->valid || leaving->branch == FLOW_BRANCH_JUMP_INDIRECT)
		flags |= DUMP_TRANSFER_INDIRECT;
	if (tracker->place.image != place->place.image)
		flags |= DUMP_TRANSFER_FOREIGN;
	go(walk, DUMP_TRANSFER_JUMP, flags, 0, place);
}

/* The flow goes on at an address that is traced. */
static void land(struct walk *walk, uint32_t image, uint64_t address)
{
	struct dump_tracker *tracker = walk->tracker;
	const struct dump_leaving *leaving = &tracker->leaving;
	const uint8_t kind = leaving->valid ? kind_of_branch(leaving->branch) : DUMP_TRANSFER_JUMP;
	struct cached *place;

	if (kind == DUMP_TRANSFER_JUMP && tracker->placed && tracker->place.image == image &&
	    address >= tracker->place.first && address <= tracker->place.last)
		return;
	place = find_cached(walk, image, address);
	if (!place)
		return;
	/* Position-independent code calls what is behind the call, to learn where it is. */
	if (kind == DUMP_TRANSFER_JUMP || (kind == DUMP_TRANSFER_CALL && address == leaving->behind))
		move(walk, place);
	else if (kind != DUMP_TRANSFER_FAR_CALL || address != leaving->behind)
		go(walk, kind, 0, leaving->behind, place);
	tracker->place = place->place;
	tracker->placed = true;
}

/* Forgets the branch before: what comes has another reason. */
static void forget(struct dump_tracker *tracker)
{
	tracker->leaving.valid = false;
}

/* ---- events -------------------------------------------------------------------------------------- */

/* A place that an event names; NULL after a failure. */
static struct cached *place_of(struct walk *walk, const struct flow_event *event, uint64_t address)
{
	return find_cached(walk, find_image(walk, event->time, address), address);
}

/* The branch before leads out of what is traced. */
static void leave(struct walk *walk, const struct flow_event *event)
{
	const struct dump_leaving *leaving = &walk->tracker->leaving;
	const uint8_t kind = kind_of_branch(leaving->branch);
	struct dump_transfer *transfer;
	struct cached *place;

	if (!leaving->valid || kind == DUMP_TRANSFER_FAR_CALL || kind == DUMP_TRANSFER_FAR_RETURN)
		return;
	if (event->flags & FLOW_EVENT_HAS_TO) {
		place = place_of(walk, event, event->to);
		if (place)
			go(walk, kind, DUMP_TRANSFER_OUTSIDE | DUMP_TRANSFER_INDIRECT | DUMP_TRANSFER_FOREIGN,
			   leaving->behind, place);
		return;
	}
	if (kind == DUMP_TRANSFER_JUMP)
		return;
	transfer = start(walk, kind);
	if (!transfer)
		return;
	transfer->address = leaving->behind;
	transfer->flags = DUMP_TRANSFER_OUTSIDE;
}

static void add_pause(struct walk *walk, unsigned flags, uint64_t address)
{
	struct dump_transfer *transfer = start(walk, DUMP_TRANSFER_PAUSE);

	if (transfer) {
		transfer->address = address;
		transfer->flags = (uint8_t)flags;
	}
	forget(walk->tracker);
}

static void take_disabled(struct walk *walk, const struct flow_event *event)
{
	const struct dump_leaving leaving = walk->tracker->leaving;

	leave(walk, event);
	if (leaving.valid && leaving.branch == FLOW_BRANCH_FAR_CALL)
		add_pause(walk, DUMP_TRANSFER_KERNEL, leaving.behind);
	else
		add_pause(walk, 0, 0);
}

static void take_enabled(struct walk *walk, const struct flow_event *event)
{
	struct cached *place = place_of(walk, event, event->to);

	if (!place)
		return;
	go(walk, DUMP_TRANSFER_RESUME, 0, 0, place);
	walk->tracker->place = place->place;
	walk->tracker->placed = true;
	forget(walk->tracker);
}

/* What was to be executed at `from` was not: something came between. */
static void interrupt_at(struct walk *walk, const struct flow_event *event)
{
	const struct dump_tracker *tracker = walk->tracker;

	if (event->flags & FLOW_EVENT_HAS_FROM && (tracker->placed || tracker->leaving.valid))
		land(walk, find_image(walk, event->time, event->from), event->from);
	forget(walk->tracker);
}

static void take_interrupt(struct walk *walk, const struct flow_event *event)
{
	struct cached *place;

	interrupt_at(walk, event);
	place = place_of(walk, event, event->to);
	if (!place)
		return;
	go(walk, DUMP_TRANSFER_INTERRUPT, 0, event->from, place);
	walk->tracker->place = place->place;
	walk->tracker->placed = true;
}

static void take_event(struct walk *walk, const struct flow_event *event)
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
		add_pause(walk, DUMP_TRANSFER_KERNEL, event->from);
		break;
	case FLOW_ASYNC_BRANCH:
		take_interrupt(walk, event);
		break;
	case FLOW_GAP:
		start(walk, DUMP_TRANSFER_GAP);
		forget(walk->tracker);
		walk->tracker->placed = false;
		break;
	default:
		/* An aborted transaction goes on elsewhere. */
		forget(walk->tracker);
		break;
	}
}

/* Whether the event tells where flow goes, or does not. */
static bool matters(const struct flow_event *event)
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

/* ---- segments ------------------------------------------------------------------------------------ */

/* The time of a block, which is looked up where somebody asks for it. */
static void reach(struct walk *walk, size_t block)
{
	const struct flow_batch *batch = walk->batch;
	uint64_t time = 0;

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
	return (struct dump_leaving){block->ip + block->size, block->target, block->branch, true};
}

/* Blocks one after the other, without events between; index is that of the first in the batch. */
static void take_blocks(struct walk *walk, const struct flow_block *const *blocks, size_t count, size_t index)
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
			land(walk, block->image, block->ip);
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
static void take_first(struct walk *walk, const struct flow_block *block, const struct flow_event *event)
{
	struct dump_tracker *tracker = walk->tracker;
	struct dump_transfers *transfers = walk->transfers;

	tracker->first = (struct dump_first){.valid = true, .is_event = !block, .time = tracker->time};
	walk->transfers = NULL;
	if (block) {
		tracker->first.ip = block->ip;
		tracker->first.image = block->image;
		land(walk, block->image, block->ip);
		tracker->leaving = leaving_of(block);
		tracker->instructions += block->instructions;
	} else {
		tracker->first.event = *event;
		take_event(walk, event);
	}
	walk->transfers = transfers;
}

/* Events that stand before the block of this index. */
static void take_events(struct walk *walk, size_t *next, size_t block)
{
	const struct flow_batch *batch = walk->batch;

	for (; walk->status == 0 && *next < batch->event_count && batch->events[*next].before <= block; ++*next) {
		const struct flow_event *event = &batch->events[*next];

		if (!matters(event))
			continue;
		if (event->time)
			walk->tracker->time = event->time;
		if (walk->tracker->first.valid)
			take_event(walk, event);
		else
			take_first(walk, NULL, event);
	}
}

int dump_transfers_add(struct dump_transfers *transfers, struct dump_tracker *tracker, struct dump_place_cache *cache,
		       const struct flow_segment *segment, const struct flow_batch *batch)
{
	struct walk walk = {transfers, tracker, cache, segment, 0, batch, 0};
	size_t index = 0, next_event = 0;

	for (size_t r = 0; walk.status == 0 && r < batch->run_count; r++) {
		const struct flow_block_run *run = batch->runs[r];
		size_t at = 0;

		while (walk.status == 0 && at < run->count) {
			size_t count = run->count - at;

			take_events(&walk, &next_event, index);
			if (next_event < batch->event_count && batch->events[next_event].before - index < count)
				count = batch->events[next_event].before - index;
			if (walk.status == 0 && !tracker->first.valid) {
				count = 1;
				reach(&walk, index);
				take_first(&walk, run->blocks[at], NULL);
			} else if (walk.status == 0) {
				take_blocks(&walk, run->blocks + at, count, index);
			}
			at += count;
			index += count;
		}
	}
	take_events(&walk, &next_event, index);
	if (batch->block_count)
		reach(&walk, batch->block_count - 1);
	return walk.status;
}

int dump_transfers_join(struct dump_transfers *transfers, const struct dump_tracker *before,
			const struct dump_first *first, struct dump_place_cache *cache,
			const struct flow_segment *segment)
{
	struct dump_tracker tracker = *before;
	struct walk walk = {transfers, &tracker, cache, segment, 0, NULL, 0};

	tracker.instructions = 0;
	tracker.time = first->time;
	if (first->is_event)
		take_event(&walk, &first->event);
	else
		land(&walk, first->image, first->ip);
	return walk.status;
}
