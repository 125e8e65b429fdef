/* SPDX-License-Identifier: BSD-2-Clause */
/* Joins runs of instructions into blocks, and collects blocks, events and marks in batches. */
#include "flow/engine/builder.h"

static void reset(struct flow_builder *builder)
{
	builder->block_count = builder->event_count = builder->mark_count = 0;
	builder->instructions = 0;
	builder->branches = 0;
}

void flow_builder_start(struct flow_builder *builder, const struct flow_code *code)
{
	flow_table_start(&builder->table, code);
	builder->sink = NULL;
	builder->open.instructions = 0;
	reset(builder);
}

void flow_builder_free(struct flow_builder *builder)
{
	flow_table_free(&builder->table);
}

void flow_begin(struct flow_builder *builder, const struct flow_sink *sink)
{
	flow_table_trim(&builder->table);
	builder->sink = sink;
	builder->open.instructions = 0;
	/* libipt does not tell the distance of timing packets. */
	builder->mark = (struct flow_mark){.before = FLOW_UNBOUNDED, .after = FLOW_UNBOUNDED};
	reset(builder);
}

void flow_state(struct flow_builder *builder, uint64_t time, bool speculative)
{
	builder->mark.time = time;
	builder->mark.speculative = speculative;
}

static int flush_batch(struct flow_builder *builder)
{
	const struct flow_block_run run = {
		.blocks = builder->blocks,
		.instructions = builder->instructions,
		.count = (uint32_t)builder->block_count,
		.branches = builder->branches,
	};
	const struct flow_block_run *runs[1] = {&run};
	const struct flow_batch batch = {
		.runs = runs,
		.run_count = builder->block_count ? 1 : 0,
		.block_count = builder->block_count,
		.instructions = builder->instructions,
		.branches = builder->branches,
		.events = builder->events,
		.event_count = builder->event_count,
		.marks = builder->marks,
		.mark_count = builder->mark_count,
	};

	if (!batch.block_count && !batch.event_count)
		return 0;
	reset(builder);
	return builder->sink->take(builder->sink->context, &batch);
}

static void add_mark(struct flow_builder *builder, const struct flow_mark *mark)
{
	if (builder->mark_count) {
		const struct flow_mark *last = &builder->marks[builder->mark_count - 1];

		if (last->time == mark->time && last->speculative == mark->speculative)
			return;
	}
	builder->marks[builder->mark_count] = *mark;
	builder->marks[builder->mark_count++].block = builder->block_count;
}

static int add_block(struct flow_builder *builder, const struct flow_block *block, const struct flow_mark *mark)
{
	add_mark(builder, mark);
	builder->instructions += block->instructions;
	builder->branches += block->branch != FLOW_BRANCH_NONE;
	builder->blocks[builder->block_count++] = block;
	return builder->block_count == FLOW_BATCH_BLOCKS ? flush_batch(builder) : 0;
}

static int close_block(struct flow_builder *builder)
{
	const struct flow_block *block = builder->open.block;
	int status = 0;

	if (!builder->open.instructions)
		return 0;
	if (!block)
		status = flow_table_get(&builder->table, builder->open.ip, builder->open.last_ip,
					builder->open.instructions, builder->open.mode, &block);
	builder->open.instructions = 0;
	return status < 0 ? status : add_block(builder, block, &builder->open.mark);
}

/* Begins an open block with a run, or adds the run to the open block. */
static void open_block(struct flow_builder *builder, const struct flow_block *run)
{
	if (builder->open.instructions) {
		builder->open.block = NULL;
	} else {
		builder->open.ip = run->ip;
		builder->open.mode = run->mode;
		builder->open.block = run;
	}
	/* The block gets the time of the packet that proves the block's end, however many runs the block has. */
	builder->open.mark = builder->mark;
	builder->open.last_ip = run->last_ip;
	builder->open.end = run->ip + run->size;
	builder->open.instructions += run->instructions;
}

int flow_builder_version(struct flow_builder *builder, flow_root root)
{
	int status = close_block(builder);

	flow_table_version(&builder->table, root);
	return status;
}

/* Adds `count` of the run's instructions, from ip to last_ip, to the open block. ends: the block ends after last_ip. */
static int add_part(struct flow_builder *builder, const struct flow_block *run, uint64_t ip, uint64_t last_ip,
		    uint32_t count, bool ends)
{
	const struct flow_block *part = run;
	int status = 0;

	if (count != run->instructions)
		status = flow_table_get(&builder->table, ip, last_ip, count, run->mode, &part);
	if (status < 0)
		return status;
	open_block(builder, part);
	return ends ? close_block(builder) : 0;
}

/* Adds a long run to the open block, and ends blocks at their maximum length. */
static int add_long(struct flow_builder *builder, const struct flow_block *run)
{
	uint64_t first = run->ip, at = run->ip, last = run->ip;
	uint32_t count = 0;
	int status = 0;

	for (uint32_t i = 0; !status && i < run->instructions; i++) {
		bool ends;

		last = at;
		at += run->lengths[i];
		count++;
		ends = flow_block_is_full(builder->open.instructions + count, last, at) ||
		       (i + 1 == run->instructions && run->branch != FLOW_BRANCH_NONE);
		if (!ends && i + 1 < run->instructions)
			continue;
		status = add_part(builder, run, first, last, count, ends);
		first = at;
		count = 0;
	}
	return status;
}

int flow_builder_run(struct flow_builder *builder, uint64_t ip, uint64_t last_ip, uint32_t count, uint8_t mode)
{
	const struct flow_block *run;
	int status = flow_table_get(&builder->table, ip, last_ip, count, mode, &run);

	if (status < 0)
		return status;
	builder->last_branch = run->branch;
	if (builder->open.instructions && (builder->open.end != ip || builder->open.mode != mode))
		status = close_block(builder);
	if (status < 0)
		return status;
	if (builder->open.instructions + count >= FLOW_BLOCK_LONG)
		return add_long(builder, run);
	/* The frequent case: the run is a complete block. */
	if (!builder->open.instructions && run->branch != FLOW_BRANCH_NONE)
		return add_block(builder, run, &builder->mark);
	open_block(builder, run);
	return run->branch != FLOW_BRANCH_NONE ? close_block(builder) : 0;
}

int flow_event(struct flow_builder *builder, const struct flow_event *event)
{
	struct flow_event *added;

	if (flow_event_splits(event->kind)) {
		int status = close_block(builder);

		if (status < 0)
			return status;
	}
	added = &builder->events[builder->event_count++];
	*added = *event;
	added->before = builder->block_count;
	return builder->event_count == FLOW_BATCH_EVENTS ? flush_batch(builder) : 0;
}

int flow_end(struct flow_builder *builder)
{
	int status = close_block(builder);

	return status < 0 ? status : flush_batch(builder);
}
