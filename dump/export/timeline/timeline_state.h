/* SPDX-License-Identifier: BSD-2-Clause */
/* A timeline while it is written: calls first, thread after thread, then what else there is. */
#ifndef DUMP_EXPORT_TIMELINE_TIMELINE_STATE_H
#define DUMP_EXPORT_TIMELINE_TIMELINE_STATE_H

#include "dump/call/instruction_count.h"
#include "dump/export/timeline/timeline.h"

struct dump_timeline {
	struct dump_timeline_output output;
	struct dump_call_session *calls;
	const struct dump_timeline_options *options;
	uint64_t start_time;
	struct common_hash_map processes; /* track by index in the timeline; of CPUs by those above */
	struct common_hash_map threads;   /* track by process and thread */
	uint32_t *functions;              /* name of each, counted from 1; owned */
	size_t function_capacity;

	/* Of the thread at hand. */
	uint32_t thread_track;
	uint32_t counter_track;
	uint32_t gap_track; /* DUMP_TIMELINE_NONE: it has had none yet */
	uint32_t *stacks;   /* track of each, counted from 1; owned */
	size_t stack_capacity;
	uint64_t time; /* of what came last; since the start of the trace */
	struct dump_instruction_count executed;
	uint64_t sample_time; /* of the counter */
	uint64_t sampled;
	bool in_gap;
	bool begun;

	uint64_t slices;
	uint64_t short_calls; /* below --min-time */
	uint64_t more_calls;  /* beyond --max-slices */
	uint64_t gaps;
	bool timed; /* some of it has times */
};

/* The track of a process or, where it is not known, of a CPU; made where there is none. */
int dump_timeline_process(struct dump_timeline *timeline, uint32_t process, uint32_t pid, uint32_t cpu,
			  uint32_t *track);
/* The track of a thread below it. */
int dump_timeline_thread(struct dump_timeline *timeline, uint32_t process, uint32_t pid, uint32_t tid, uint32_t cpu,
			 uint32_t *track);

/* What is not calls. */
int dump_timeline_events(struct dump_timeline *timeline);
int dump_timeline_switches(struct dump_timeline *timeline);
int dump_timeline_packets(struct dump_timeline *timeline);

static inline uint64_t dump_timeline_time(const struct dump_timeline *timeline, uint64_t time)
{
	return time > timeline->start_time ? dump_export_signed(time - timeline->start_time) : 0;
}

#endif
