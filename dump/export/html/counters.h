/* SPDX-License-Identifier: BSD-2-Clause */
/* What threads did over time: instructions, and bytes of Intel PT, of equal spans of time. */
#ifndef DUMP_EXPORT_HTML_COUNTERS_H
#define DUMP_EXPORT_HTML_COUNTERS_H

#include "common/hash_map.h"
#include "dump/call/call_session.h"
#include "dump/call/instruction_count.h"

#define DUMP_COUNTER_SPANS 1024   /* of a thread at most: beyond, two become one */
#define DUMP_COUNTER_THREADS 4096 /* that have counters: a trace may say that there are any number */

/* Of one thread. */
struct dump_counter_series {
	uint32_t pid, tid, cpu;
	uint64_t start;                 /* trace clock; 0: no time is known yet */
	uint64_t span;                  /* nanoseconds */
	size_t count;                   /* of spans, from start on */
	uint64_t *instructions, *bytes; /* DUMP_COUNTER_SPANS of each; owned */
};

struct dump_counters {
	struct dump_counter_series *list; /* owned */
	size_t count, capacity;
	struct common_byte_map by_thread; /* index of those with a time */
	size_t timed;

	/* Of the thread at hand. */
	struct dump_instruction_count executed;
	uint64_t time;  /* of the last sample */
	uint64_t taken; /* instructions up to it */
	bool lost;      /* flow behind it is missing */
};

/* A thread begins. PTL_NO_MEMORY. */
int dump_counters_begin(struct dump_counters *counters, const struct dump_call_thread *thread);
/* The thread has come to its time. PTL_NO_MEMORY. */
int dump_counters_follow(struct dump_counters *counters, const struct dump_call_thread *thread);
/* The same, and flow is missing from then on up to the next time. */
int dump_counters_gap(struct dump_counters *counters, const struct dump_call_thread *thread);
/* The same, and the thread, or one of its programs, ends: what it did after the last time is of that time. */
int dump_counters_end(struct dump_counters *counters, const struct dump_call_thread *thread);
/* Adds the bytes of Intel PT of all threads. PTL_NO_MEMORY, and what flow_segments_list returns. */
int dump_counters_packets(struct dump_counters *counters, const struct dump_call_session *calls);
void dump_counters_free(struct dump_counters *counters);

#endif
