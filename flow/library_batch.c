/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives out a batch of flow through ptl/flow.h: blocks without a copy, events and segments as copies. */
#include "flow/library.h"

/*
 * A block is given out without a copy: the public structure equals the beginning of the internal structure. Only
 * callers read through the public structure, and never in the translation unit of the internal one. No compiler can
 * therefore treat the two as different memory.
 */
#define SAME_MEMBER(member)                                                                                            \
	_Static_assert(offsetof(struct ptl_flow_block, member) == offsetof(struct flow_block, member) &&               \
			       sizeof(((struct ptl_flow_block *)0)->member) ==                                         \
				       sizeof(((struct flow_block *)0)->member),                                       \
		       "struct ptl_flow_block is what struct flow_block begins with")
SAME_MEMBER(ip);
SAME_MEMBER(last_ip);
SAME_MEMBER(instructions);
SAME_MEMBER(size);
SAME_MEMBER(image);
SAME_MEMBER(branch);
SAME_MEMBER(mode);
SAME_MEMBER(code_event);
SAME_MEMBER(code);
SAME_MEMBER(lengths);
SAME_MEMBER(target);

#define SAME_RUN_MEMBER(member)                                                                                        \
	_Static_assert(offsetof(struct ptl_flow_run, member) == offsetof(struct flow_block_run, member) &&             \
			       sizeof(((struct ptl_flow_run *)0)->member) ==                                           \
				       sizeof(((struct flow_block_run *)0)->member),                                   \
		       "struct ptl_flow_run is struct flow_block_run")
SAME_RUN_MEMBER(blocks);
SAME_RUN_MEMBER(instructions);
SAME_RUN_MEMBER(count);
SAME_RUN_MEMBER(branches);

/*
 * Numbers are given out unchanged. Each list has no gaps, so the first and the last number fix all numbers in between.
 */
#define SAME_NUMBER(name) _Static_assert((int)PTL_##name == (int)name, "the public number is the internal one")
SAME_NUMBER(FLOW_BRANCH_NONE);
SAME_NUMBER(FLOW_BRANCH_RETURN);
SAME_NUMBER(FLOW_BRANCH_FAR_JUMP);
SAME_NUMBER(FLOW_ENABLED);
SAME_NUMBER(FLOW_GAP);
SAME_NUMBER(FLOW_TRIGGER);
SAME_NUMBER(FLOW_POWER_EXIT);
SAME_NUMBER(FLOW_GAP_NONE);
SAME_NUMBER(FLOW_GAP_CODE);
SAME_NUMBER(FLOW_GAP_SWITCH);
SAME_NUMBER(FLOW_GAP_GUEST);
_Static_assert(PTL_FLOW_GAP_GUEST + 1 == FLOW_GAP_COUNT, "all causes are public");
_Static_assert(PTL_FLOW_HAS_FROM == FLOW_EVENT_HAS_FROM && PTL_FLOW_HAS_TO == FLOW_EVENT_HAS_TO &&
		       PTL_FLOW_RESUMED == FLOW_EVENT_RESUMED && PTL_FLOW_UNPLACED == FLOW_EVENT_UNPLACED,
	       "the public flags are the internal ones");
_Static_assert(PTL_NO_ID == FLOW_NONE, "no image is the same number");

struct ptl_flow_segment flow_library_segment(const struct flow_segment *segment)
{
	return (struct ptl_flow_segment){
		.pid = segment->pid,
		.tid = segment->tid,
		.cpu = segment->cpu,
		.stream = segment->stream,
		.group = segment->group,
		.offset = segment->offset + segment->skip,
		.size = segment->size - segment->skip,
		.time = segment->time,
		.first = segment->first,
		.last = segment->last,
	};
}

void flow_library_batch(struct ptl_flow_batch *walk, const struct flow_batch *batch,
			const struct ptl_flow_segment *segment, bool counts_only)
{
	walk->batch = batch;
	walk->cursor = flow_batch_walk(batch);
	walk->counts_only = counts_only;
	walk->item = (struct ptl_flow_item){.segment = segment};
}

uint64_t ptl_flow_batch_instructions(const struct ptl_flow_batch *batch)
{
	return batch->batch->instructions;
}

uint64_t ptl_flow_batch_blocks(const struct ptl_flow_batch *batch)
{
	return batch->batch->block_count + batch->batch->counted_blocks;
}

uint64_t ptl_flow_batch_branches(const struct ptl_flow_batch *batch)
{
	return batch->batch->branches;
}

const struct ptl_flow_run *const *ptl_flow_batch_runs(const struct ptl_flow_batch *batch, size_t *count,
						      uint64_t *generation)
{
	*count = batch->counts_only ? 0 : batch->batch->run_count;
	*generation = batch->batch->generation;
	return (const struct ptl_flow_run *const *)(const void *)batch->batch->runs;
}

static const struct ptl_flow_item *give_event(struct ptl_flow_batch *batch, const struct flow_event *event)
{
	batch->event = (struct ptl_flow_event){
		.kind = event->kind,
		.cause = event->kind == FLOW_GAP ? event->cause : (uint8_t)FLOW_GAP_NONE,
		.flags = event->flags,
		.type = event->type,
		.item = event->item,
		.value = event->value,
		.from = event->from,
		.to = event->to,
		.time = event->time,
		.offset = event->offset,
		.size = event->size,
	};
	batch->item.block = NULL;
	batch->item.event = &batch->event;
	batch->item.time = event->time;
	batch->item.earliest = 0;
	batch->item.latest = UINT64_MAX;
	batch->item.speculative = false;
	return &batch->item;
}

static const struct ptl_flow_item *give_block(struct ptl_flow_batch *batch)
{
	const struct flow_batch_cursor *cursor = &batch->cursor;
	const struct flow_mark *mark = flow_batch_mark(cursor);
	const uint64_t time = cursor->time;

	batch->item.block = (const struct ptl_flow_block *)cursor->block;
	batch->item.event = NULL;
	batch->item.time = time;
	batch->item.earliest = 0;
	batch->item.latest = UINT64_MAX;
	if (time && mark && mark->before != FLOW_UNBOUNDED && mark->before < time)
		batch->item.earliest = time - mark->before;
	if (time && mark && mark->after != FLOW_UNBOUNDED && mark->after < UINT64_MAX - time)
		batch->item.latest = time + mark->after;
	batch->item.speculative = cursor->speculative;
	return &batch->item;
}

/* A batch of a counting run may have no list of blocks to walk. */
static const struct ptl_flow_item *next_event(struct ptl_flow_batch *batch)
{
	if (batch->cursor.next_event == batch->batch->event_count)
		return NULL;
	return give_event(batch, &batch->batch->events[batch->cursor.next_event++]);
}

const struct ptl_flow_item *ptl_flow_batch_next(struct ptl_flow_batch *batch)
{
	if (batch->counts_only)
		return next_event(batch);
	if (!flow_batch_next(&batch->cursor))
		return NULL;
	return batch->cursor.event ? give_event(batch, batch->cursor.event) : give_block(batch);
}
