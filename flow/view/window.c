/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies what lies in the window out of a batch, unless all of it does. */
#include "flow/view/window.h"

#include <stdlib.h>

#include "common/error.h"

static int reserve(struct flow_window *window, const struct flow_batch *batch)
{
	if (batch->block_count > window->block_capacity) {
		free(window->blocks);
		free(window->marks);
		window->block_capacity = 0;
		window->blocks = calloc(batch->block_count, sizeof(*window->blocks));
		window->marks = calloc(batch->block_count, sizeof(*window->marks));
		if (!window->blocks || !window->marks)
			return common_fail_memory("flow", batch->block_count * sizeof(*window->marks));
		window->block_capacity = batch->block_count;
	}
	if (batch->event_count > window->event_capacity) {
		free(window->events);
		window->event_capacity = 0;
		window->events = calloc(batch->event_count, sizeof(*window->events));
		if (!window->events)
			return common_fail_memory("flow", batch->event_count * sizeof(*window->events));
		window->event_capacity = batch->event_count;
	}
	return 0;
}

static bool is_inside(const struct flow_window *window, uint64_t time)
{
	return !time || (time >= window->first_time && time <= window->last_time);
}

/* Whether nothing is to be left out. */
static bool is_all_inside(const struct flow_window *window, const struct flow_batch *batch)
{
	for (size_t i = 0; i < batch->mark_count; i++) {
		if (!is_inside(window, batch->marks[i].time))
			return false;
	}
	for (size_t i = 0; i < batch->event_count; i++) {
		if (!is_inside(window, batch->events[i].time))
			return false;
	}
	return true;
}

static void keep_block(struct flow_window *window, const struct flow_batch_cursor *cursor, struct flow_batch *cut)
{
	const struct flow_mark *known = flow_batch_mark(cursor);
	struct flow_mark mark = {
		.block = cut->block_count,
		.time = cursor->time,
		.speculative = cursor->speculative,
		.before = known ? known->before : FLOW_UNBOUNDED,
		.after = known ? known->after : FLOW_UNBOUNDED,
	};
	const struct flow_mark *last = cut->mark_count ? &window->marks[cut->mark_count - 1] : NULL;

	if (!last || last->time != mark.time || last->speculative != mark.speculative)
		window->marks[cut->mark_count++] = mark;
	window->blocks[cut->block_count++] = cursor->block;
	cut->instructions += cursor->block->instructions;
	cut->branches += cursor->block->branch != FLOW_BRANCH_NONE;
}

int flow_window_cut(struct flow_window *window, const struct flow_batch *batch, struct flow_batch *cut)
{
	struct flow_batch_cursor cursor = flow_batch_walk(batch);
	int status;

	if (is_all_inside(window, batch)) {
		*cut = *batch;
		return 0;
	}
	status = reserve(window, batch);
	*cut = (struct flow_batch){
		.runs = window->runs,
		.events = window->events,
		.marks = window->marks,
	};
	if (status < 0)
		return status;
	while (flow_batch_next(&cursor)) {
		if (!is_inside(window, cursor.time))
			continue;
		if (cursor.block) {
			keep_block(window, &cursor, cut);
			continue;
		}
		window->events[cut->event_count] = *cursor.event;
		window->events[cut->event_count++].before = cut->block_count;
	}
	window->run = (struct flow_block_run){
		.blocks = window->blocks,
		.instructions = cut->instructions,
		.count = (uint32_t)cut->block_count,
		.branches = (uint32_t)cut->branches,
	};
	window->runs[0] = &window->run;
	cut->run_count = cut->block_count ? 1 : 0;
	return 0;
}

void flow_window_free(struct flow_window *window)
{
	free(window->blocks);
	free(window->marks);
	free(window->events);
	*window = (struct flow_window){0};
}
