/* SPDX-License-Identifier: BSD-2-Clause */
/* Fills batches, and hands batches to the consumer. */
#include "flow/native/output.h"

#include <stdlib.h>

#include "common/error.h"

/* generation of runs that are never kept */
static const uint64_t no_generation;

int native_output_open(struct native_output *output)
{
	/* Not cleared: most of the memory is never used, and clearing would cause page faults. */
	*output = (struct native_output){
		.runs = malloc(NATIVE_BATCH_RUNS * sizeof(*output->runs)),
		.events = malloc(NATIVE_BATCH_EVENTS * sizeof(*output->events)),
		.marks = malloc(NATIVE_BATCH_EVENTS * sizeof(*output->marks)),
		.generation = &no_generation,
	};
	if (output->runs && output->events && output->marks)
		return 0;
	native_output_close(output);
	return common_fail_memory("a batch of flow", NATIVE_BATCH_RUNS * sizeof(*output->runs));
}

void native_output_close(struct native_output *output)
{
	free(output->runs);
	free(output->events);
	free(output->marks);
	*output = (struct native_output){0};
}

void native_output_start(struct native_output *output, const struct flow_sink *sink)
{
	output->sink = sink;
	output->run_count = 0;
	output->run_limit = 0;
	output->block_count = 0;
	output->counted_blocks = 0;
	output->instructions = 0;
	output->branches = 0;
	output->event_count = 0;
	output->mark_count = 0;
	output->time = output->cycles = 0;
	output->since[0] = output->since[1] = 0;
	output->speculative = false;
	output->status = 0;
}

/* Returns the nanoseconds from a to b; FLOW_UNBOUNDED: a or b is unknown; 0: b is before a. */
static uint32_t span(uint64_t a, uint64_t b)
{
	if (!a || !b || (b > a && b - a >= FLOW_UNBOUNDED))
		return FLOW_UNBOUNDED;
	return b > a ? (uint32_t)(b - a) : 0;
}

void native_output_tick(struct native_output *output, uint64_t time)
{
	/* No mark is due: the batch has blocks of the previous time, and the last mark is the mark of that time. */
	if (output->run_limit && output->mark_count) {
		output->marks[output->mark_count - 1].after = span(output->time, time);
		output->since[0] = output->since[1];
		output->since[1] = output->time;
	}
	output->time = time;
	native_output_mark(output);
}

void native_output_flush(struct native_output *output)
{
	struct flow_batch batch = {
		.generation = *output->generation,
		.runs = output->runs,
		.run_count = output->run_count,
		.instructions = output->instructions,
		.branches = output->branches,
		.block_count = output->block_count,
		.counted_blocks = output->counted_blocks,
		.events = output->events,
		.event_count = output->event_count,
		.marks = output->marks,
		.mark_count = output->mark_count,
	};

	if (output->before_flush && output->run_count)
		output->before_flush(output->flush_context);
	if (!output->status && (batch.block_count || batch.counted_blocks || batch.event_count))
		output->status = output->sink->take(output->sink->context, &batch);
	output->run_count = 0;
	output->run_limit = 0;
	output->block_count = 0;
	output->counted_blocks = 0;
	output->instructions = 0;
	output->branches = 0;
	output->event_count = 0;
	output->mark_count = 0;
}

void native_output_turn(struct native_output *output)
{
	if (output->run_count == NATIVE_BATCH_RUNS || output->mark_count == NATIVE_BATCH_EVENTS)
		native_output_flush(output);
	if (!output->run_count || !output->run_limit)
		output->marks[output->mark_count++] = (struct flow_mark){
			.block = output->block_count,
			.time = output->time,
			.cycles = output->cycles,
			.speculative = output->speculative,
			.before = span(output->since[0], output->time),
			.after = output->time ? output->period : FLOW_UNBOUNDED,
		};
	output->run_limit = NATIVE_BATCH_RUNS;
}

void native_output_put_counted(struct native_output *output, const struct native_region *first)
{
	native_output_event(output, &(struct flow_event){
					    .kind = FLOW_COUNTED,
					    .from = first->here.ip,
					    .value = (uintptr_t)first->run.run.blocks[0],
				    });
}
