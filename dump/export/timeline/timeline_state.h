/* SPDX-License-Identifier: BSD-2-Clause */
/* State of a timeline: calls are written first, thread after thread, then all other data. */
#ifndef DUMP_EXPORT_TIMELINE_TIMELINE_STATE_H
#define DUMP_EXPORT_TIMELINE_TIMELINE_STATE_H

#include "analysis/call/instruction_count.h"
#include "dump/export/timeline/timeline.h"

struct dump_timeline {
	struct dump_timeline_output output;
	struct analysis_calls *calls;
	const struct dump_timeline_options *options;
	uint64_t start_time;
	/* track by index in the timeline; other processes and CPUs have keys above the indexes */
	struct common_hash_map processes;
	struct common_hash_map threads; /* track by process and thread */
	uint32_t *functions;            /* name by function, from 1; owned */
	size_t function_capacity;

	/* State of the current thread. */
	uint32_t thread_track;
	uint32_t counter_track;
	uint32_t gap_track; /* DUMP_TIMELINE_NONE: no gap so far */
	uint32_t *stacks;   /* track by stack number, from 1; 0: none yet; owned */
	size_t stack_capacity;
	uint64_t time; /* current time in nanoseconds since the start of the trace */
	struct analysis_instruction_count executed;
	uint64_t sample_time; /* start of the counter's current sample */
	uint64_t sampled;
	bool in_gap;
	bool begun;

	uint64_t slices;
	uint64_t short_calls; /* shorter than --min-time */
	uint64_t more_calls;  /* beyond --max-slices */
	uint64_t gaps;
	bool timed; /* some calls have times */
};

/* Finds or adds the track of a process or, if pid is PTL_NO_ID, of a CPU. */
int dump_timeline_process(struct dump_timeline *timeline, uint32_t process, uint32_t pid, uint32_t cpu,
			  uint32_t *track);
/* Finds or adds the track of a thread below its process. */
int dump_timeline_thread(struct dump_timeline *timeline, uint32_t process, uint32_t pid, uint32_t tid, uint32_t cpu,
			 uint32_t *track);

/* Write timeline data other than calls. */
int dump_timeline_events(struct dump_timeline *timeline);
int dump_timeline_switches(struct dump_timeline *timeline);
int dump_timeline_packets(struct dump_timeline *timeline);

static inline uint64_t dump_timeline_time(const struct dump_timeline *timeline, uint64_t time)
{
	return time > timeline->start_time ? dump_export_signed(time - timeline->start_time) : 0;
}

#endif
