/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives out the blocks of a batch as arrays. */
#include "flow/library.h"

#include "common/structure.h"

/* Blocks in memory order, and where their columns go. */
struct stretch {
	const struct flow_block *const *blocks;
	size_t count;
	size_t to; /* index in the arrays */
};

/* The columns that most callers want, in one pass over the blocks. */
static inline void fill_frequent(const struct ptl_flow_arrays *arrays, const struct stretch *stretch)
{
	uint64_t *restrict ip = arrays->ip + stretch->to;
	uint32_t *restrict instructions = arrays->instructions + stretch->to;
	uint8_t *restrict branch = arrays->branch + stretch->to;

	for (size_t i = 0; i < stretch->count; i++) {
		const struct flow_block *block = stretch->blocks[i];

		ip[i] = block->ip;
		instructions[i] = block->instructions;
		branch[i] = block->branch;
	}
}

#define FILL(column, member)                                                                                           \
	for (size_t i = 0; arrays->column && i < stretch->count; i++)                                                  \
	arrays->column[stretch->to + i] = stretch->blocks[i]->member

static void fill_any(const struct ptl_flow_arrays *arrays, const struct stretch *stretch)
{
	FILL(ip, ip);
	FILL(instructions, instructions);
	FILL(branch, branch);
	FILL(last_ip, last_ip);
	FILL(target, target);
	FILL(bytes, size);
	FILL(image, image);
	FILL(mode, mode);
}

static bool has_rare(const struct ptl_flow_arrays *arrays)
{
	return arrays->last_ip || arrays->target || arrays->bytes || arrays->image || arrays->mode;
}

/* Fills the time of `count` blocks behind the cursor, and moves the cursor's mark. */
static void fill_times(struct flow_batch_cursor *cursor, uint64_t *times, size_t count)
{
	const struct flow_batch *batch = cursor->batch;

	for (size_t i = 0; i < count; i++) {
		while (cursor->next_mark < batch->mark_count &&
		       batch->marks[cursor->next_mark].block <= cursor->next_block + i) {
			cursor->time = batch->marks[cursor->next_mark].time;
			cursor->speculative = batch->marks[cursor->next_mark++].speculative != 0;
		}
		if (cursor->next_mark)
			cursor->time = batch->marks[cursor->next_mark - 1].time;
		times[i] = cursor->time;
	}
}

/* Returns the number of blocks that may be written from the cursor on. */
static size_t blocks_before_event(struct flow_batch_cursor *cursor, bool over_events, size_t room)
{
	const struct flow_batch *batch = cursor->batch;
	size_t end = batch->block_count;

	if (over_events)
		cursor->next_event = batch->event_count;
	else if (cursor->next_event < batch->event_count && batch->events[cursor->next_event].before < end)
		end = batch->events[cursor->next_event].before;
	if (end <= cursor->next_block)
		return 0;
	return end - cursor->next_block < room ? end - cursor->next_block : room;
}

/* Takes up to `most` blocks of the current run. */
static inline struct stretch next_stretch(struct flow_batch_cursor *cursor, size_t most)
{
	struct stretch stretch;

	if (cursor->in_run == cursor->run_end) {
		const struct flow_block_run *run = cursor->batch->runs[cursor->next_run++];

		cursor->in_run = run->blocks;
		cursor->run_end = run->blocks + run->count;
	}
	stretch = (struct stretch){.blocks = cursor->in_run, .count = (size_t)(cursor->run_end - cursor->in_run)};
	if (stretch.count > most)
		stretch.count = most;
	cursor->in_run += stretch.count;
	return stretch;
}

size_t ptl_flow_batch_arrays(struct ptl_flow_batch *batch, const struct ptl_flow_arrays *arrays, size_t room)
{
	struct flow_batch_cursor *cursor = &batch->cursor;
	struct ptl_flow_arrays given;
	size_t count, done = 0;
	bool frequent;

	if (batch->counts_only || !arrays || common_structure_take("ptl_flow_arrays", arrays, &given, sizeof(given)))
		return 0;
	frequent = given.ip && given.instructions && given.branch && !has_rare(&given);
	count = blocks_before_event(cursor, given.over_events, room);
	if (given.time && count)
		fill_times(cursor, given.time, count);
	while (done < count) {
		struct stretch stretch = next_stretch(cursor, count - done);

		stretch.to = done;
		if (frequent)
			fill_frequent(&given, &stretch);
		else
			fill_any(&given, &stretch);
		done += stretch.count;
	}
	cursor->next_block += count;
	return count;
}
