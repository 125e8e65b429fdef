/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions and bytes of Intel PT of each thread over time, in equal time spans. */
#ifndef DUMP_EXPORT_HTML_COUNTERS_H
#define DUMP_EXPORT_HTML_COUNTERS_H

#include "analysis/call/instruction_count.h"
#include "common/hash_map.h"
#include "dump/run/calls.h"

#define DUMP_COUNTER_SPANS 1024   /* maximum spans per thread: beyond, pairs of spans are merged */
#define DUMP_COUNTER_THREADS 4096 /* maximum threads with counters: a hostile trace may have any number of threads */

/* Counters of one thread. */
struct dump_counter_series {
	uint32_t pid, tid, cpu;
	uint64_t start;                 /* trace clock; 0: no time known yet */
	uint64_t span;                  /* nanoseconds per span */
	size_t count;                   /* number of spans */
	uint64_t *instructions, *bytes; /* DUMP_COUNTER_SPANS numbers each; owned */
};

struct dump_counters {
	struct dump_counter_series *list; /* owned */
	size_t count, capacity;
	struct common_byte_map by_thread; /* index in `list` of threads with a time */
	size_t timed;

	/* State of the current thread. */
	struct analysis_instruction_count executed;
	uint64_t time;  /* time of the last sample */
	uint64_t taken; /* instructions up to the last sample */
	bool lost;      /* flow after the last sample is missing */
};

/* Begins a thread. Returns 0 or PTL_NO_MEMORY. */
int dump_counters_begin(struct dump_counters *counters, const struct analysis_call_thread *thread);
/* Adds a sample at the thread's current time. Returns 0 or PTL_NO_MEMORY. */
int dump_counters_follow(struct dump_counters *counters, const struct analysis_call_thread *thread);
/* As dump_counters_follow. Flow is missing from this time up to the next sample. */
int dump_counters_gap(struct dump_counters *counters, const struct analysis_call_thread *thread);
/*
 * As dump_counters_follow. The thread, or one of its programs, ends: the remaining instructions count at the last time.
 */
int dump_counters_end(struct dump_counters *counters, const struct analysis_call_thread *thread);
/* Adds the bytes of Intel PT of all threads. Returns 0, PTL_NO_MEMORY, or a status of flow_segments_list. */
int dump_counters_packets(struct dump_counters *counters, const struct analysis_calls *calls);
void dump_counters_free(struct dump_counters *counters);

#endif
