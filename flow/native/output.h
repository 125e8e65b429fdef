/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects blocks, events and marks in batches, and hands the batches to the consumer. */
#ifndef FLOW_NATIVE_OUTPUT_H
#define FLOW_NATIVE_OUTPUT_H

#include <string.h>

#include "flow/engine/engine.h"

#include "flow/native/cache/code.h"

#define NATIVE_BATCH_RUNS 2048
#define NATIVE_BATCH_EVENTS 512

struct native_output {
	const struct flow_sink *sink;
	const struct flow_block_run **runs; /* NATIVE_BATCH_RUNS elements */
	struct flow_event *events;          /* NATIVE_BATCH_EVENTS elements */
	struct flow_mark *marks;            /* NATIVE_BATCH_EVENTS elements */
	size_t run_count;
	size_t block_count; /* blocks of all runs */
	uint64_t instructions;
	uint64_t branches;
	uint64_t counted_blocks; /* counted blocks, which are in no run */
	size_t event_count;
	size_t mark_count;
	uint64_t time;   /* time of the next block */
	uint64_t cycles; /* core cycles before the next block: see flow_mark */
	/*
	 * Times of the two marks before the next block's mark; 0 unknown. A block begins, at the latest, behind a
	 * branch reported by the packet before the block's own packet. That packet was sent after the execution of its
	 * branch, but the packet before was sent earlier. So the block was not executed before the older time.
	 */
	uint64_t since[2];
	uint32_t period; /* nanoseconds until the next timing packet; FLOW_UNBOUNDED: unknown */
	bool speculative;
	size_t run_limit; /* number of runs at which native_output_turn is needed; 0: a mark is due */
	/* called before the runs are handed over */
	void (*before_flush)(void *context);
	void *flush_context;
	const uint64_t *generation; /* generation of the runs: see struct flow_batch */
	int status;                 /* result of the consumer; if not 0, no more flow is collected */
};

/* Returns PTL_NO_MEMORY. */
int native_output_open(struct native_output *output);
void native_output_close(struct native_output *output);
void native_output_start(struct native_output *output, const struct flow_sink *sink);

/* Hands the collected flow to the consumer. */
void native_output_flush(struct native_output *output);

/* Slow path of native_output_counted: before the first run of a batch, after the last, and at a mark. */
void native_output_turn(struct native_output *output);

/* Adds a run, with sums given by the caller to save reading the run. */
static inline void native_output_counted(struct native_output *output, const struct native_run *run,
					 uint64_t instructions, uint32_t blocks, uint32_t branches)
{
	if (__builtin_expect(output->run_count >= output->run_limit, 0))
		native_output_turn(output);
	output->runs[output->run_count++] = &run->run;
	output->block_count += blocks;
	output->instructions += instructions;
	output->branches += branches;
}

static inline void native_output_run(struct native_output *output, const struct native_run *run)
{
	if (run->run.count)
		native_output_counted(output, run, run->run.instructions, run->run.count, run->run.branches);
}

/* Returns the last block of the batch. */
static inline const struct flow_block *native_output_last(const struct native_output *output)
{
	const struct flow_block_run *run = output->runs[output->run_count - 1];

	return run->blocks[run->count - 1];
}

/* Time or state changes here, so the next block needs a mark. */
static inline void native_output_mark(struct native_output *output)
{
	output->run_limit = 0;
}

/* Adds an event before the next block. All members except `before` and `time` are zero. */
static inline struct flow_event *native_output_place(struct native_output *output)
{
	struct flow_event *place;

	if (__builtin_expect(output->event_count == NATIVE_BATCH_EVENTS, 0))
		native_output_flush(output);
	place = &output->events[output->event_count++];
	*place = (struct flow_event){.before = output->block_count, .time = output->time, .cycles = output->cycles};
	return place;
}

static inline void native_output_event(struct native_output *output, const struct flow_event *event)
{
	struct flow_event *place = native_output_place(output);
	size_t before = place->before;

	*place = *event;
	place->before = before;
	place->time = output->time;
	place->cycles = output->cycles;
}

/* Adds FLOW_COUNTED: flow was counted from region `first` on. The region has blocks. */
void native_output_put_counted(struct native_output *output, const struct native_region *first);

/* Changes the time. The new time also bounds the time of earlier blocks. */
void native_output_tick(struct native_output *output, uint64_t time);

static inline void native_output_time(struct native_output *output, uint64_t time)
{
	if (output->time != time)
		native_output_tick(output, time);
}

/* The next block comes after the current packet, a PSB: so the current time bounds the block's time. */
static inline void native_output_since(struct native_output *output)
{
	output->since[0] = output->since[1] = output->time;
}

#endif
