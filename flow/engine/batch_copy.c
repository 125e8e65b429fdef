/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies selected blocks and events of a batch into another batch. */
#include "flow/engine/batch_copy.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"

static int reserve_copy(struct flow_batch_copy *copy, const struct flow_batch *batch)
{
	if (batch->block_count > copy->block_capacity) {
		free(copy->blocks);
		free(copy->marks);
		copy->block_capacity = 0;
		copy->blocks = calloc(batch->block_count, sizeof(*copy->blocks));
		copy->marks = calloc(batch->block_count, sizeof(*copy->marks));
		if (!copy->blocks || !copy->marks)
			return common_fail_memory("flow", batch->block_count * sizeof(*copy->marks));
		copy->block_capacity = batch->block_count;
	}
	if (batch->event_count > copy->event_capacity) {
		free(copy->events);
		copy->event_capacity = 0;
		copy->events = calloc(batch->event_count, sizeof(*copy->events));
		if (!copy->events)
			return common_fail_memory("flow", batch->event_count * sizeof(*copy->events));
		copy->event_capacity = batch->event_count;
	}
	return 0;
}

int flow_batch_copy_begin(struct flow_batch_copy *copy, const struct flow_batch *batch)
{
	const int status = reserve_copy(copy, batch);

	copy->made = (struct flow_batch){.runs = copy->runs, .events = copy->events, .marks = copy->marks};
	return status;
}

static void copy_add_block(struct flow_batch_copy *copy, const struct flow_batch_cursor *cursor)
{
	const struct flow_mark *known = flow_batch_mark(cursor);
	struct flow_batch *made = &copy->made;
	struct flow_mark mark = {
		.block = made->block_count,
		.time = cursor->time,
		.cycles = known ? known->cycles : 0,
		.speculative = cursor->speculative,
		.before = known ? known->before : FLOW_UNBOUNDED,
		.after = known ? known->after : FLOW_UNBOUNDED,
	};
	const struct flow_mark *last = made->mark_count ? &copy->marks[made->mark_count - 1] : NULL;

	if (!last || last->time != mark.time || last->speculative != mark.speculative)
		copy->marks[made->mark_count++] = mark;
	copy->blocks[made->block_count++] = cursor->block;
	made->instructions += cursor->block->instructions;
	made->branches += cursor->block->branch != FLOW_BRANCH_NONE;
}

void flow_batch_copy_add(struct flow_batch_copy *copy, const struct flow_batch_cursor *cursor)
{
	if (cursor->block) {
		copy_add_block(copy, cursor);
		return;
	}
	copy->events[copy->made.event_count] = *cursor->event;
	copy->events[copy->made.event_count++].before = copy->made.block_count;
}

int flow_batch_copy_add_event(struct flow_batch_copy *copy, const struct flow_event *event)
{
	const size_t count = copy->made.event_count;

	if (COMMON_VECTOR_RESERVE(copy->events, copy->event_capacity, count + 1, "events"))
		return PTL_NO_MEMORY;
	copy->made.events = copy->events;
	copy->events[count] = *event;
	copy->events[count].before = copy->made.block_count;
	copy->made.event_count++;
	return 0;
}

const struct flow_batch *flow_batch_copy_end(struct flow_batch_copy *copy)
{
	copy->run = (struct flow_block_run){
		.blocks = copy->blocks,
		.instructions = copy->made.instructions,
		.count = (uint32_t)copy->made.block_count,
		.branches = (uint32_t)copy->made.branches,
	};
	copy->runs[0] = &copy->run;
	copy->made.run_count = copy->made.block_count ? 1 : 0;
	return &copy->made;
}

void flow_batch_copy_free(struct flow_batch_copy *copy)
{
	free(copy->blocks);
	free(copy->marks);
	free(copy->events);
	*copy = (struct flow_batch_copy){0};
}
