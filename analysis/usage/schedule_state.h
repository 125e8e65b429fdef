/* SPDX-License-Identifier: BSD-2-Clause */
/* State of the fold of context switches. */
#ifndef ANALYSIS_USAGE_SCHEDULE_STATE_H
#define ANALYSIS_USAGE_SCHEDULE_STATE_H

#include "analysis/usage/kernel_event.h"
#include "analysis/usage/schedule.h"
#include "analysis/usage/tid_index.h"

enum usage_schedule_kind {
	USAGE_TRACEPOINT_SWITCH,
	USAGE_WAKE,
	USAGE_WAKE_NEW,
	USAGE_READY, /* ReadyThread of Windows */
};

/* Fields of the types, as indexes of values. */
enum { USAGE_PREV, USAGE_PREV_STATE, USAGE_NEXT, USAGE_PREV_COMM, USAGE_NEXT_COMM };
enum { USAGE_WOKEN, USAGE_WOKEN_COMM, USAGE_WAKE_FLAGS, USAGE_WAKE_SUCCESS };
enum { USAGE_READY_THREAD, USAGE_READY_FLAG };

extern const struct usage_event_type usage_schedule_types[];
extern const size_t usage_schedule_type_count;

/* A context switch in any form. */
struct usage_switch {
	uint32_t cpu;
	uint32_t old_tid, new_tid; /* in the header's numbering; PTL_NO_ID: unknown */
	uint32_t old_pid, new_pid; /* PTL_NO_ID: unknown */
	bool has_old;              /* the event reports who leaves */
	bool is_tracepoint;
	bool old_alone; /* the next thread is not recorded */
	enum usage_state old_state;
};

struct usage_schedule_state {
	struct usage_events events;
	const struct analysis_input *input;
	const struct flow_timeline *timeline;
	struct common_hash_map by_tid; /* last thread with the tid */
	struct common_hash_map by_cpu;
	struct usage_tids tids;
	usage_slice_function *each;
	void *context;

	/* result of the survey */
	struct common_hash_map own;    /* tids that left a CPU */
	struct common_hash_map last;   /* next tid of the last switch, by CPU */
	uint64_t tracepoints, records; /* context switches of each form */
	uint64_t tracepoint_breaks;
	bool system_left;    /* a tracepoint reports that an idle thread or a thread of the kernel left a CPU */
	bool has_unrecorded; /* switch records report threads without their successors */
	bool by_tracepoints; /* tracepoints are used; switch records otherwise */
	uint64_t first_time; /* of the first switch or wake-up */
};

/* Reads a context switch. Returns 1; 0 for another event; PTL_NO_MEMORY. Fills `read` for an event of a type. */
int usage_switch_read(struct usage_schedule_state *state, const struct ptl_trace *trace, const struct ptl_event *event,
		      struct usage_event *read, bool *has_read, struct usage_switch *result);
/* Reads the whole trace: which form of switches it has, and of which threads. */
int usage_schedule_survey(struct usage_schedule *schedule, struct ptl_trace *trace);

/* Finds or makes a thread. fresh: a thread that ended before makes room for a new thread with the tid. */
int usage_thread_find(struct usage_schedule *schedule, uint32_t tid, uint32_t pid, uint64_t time, bool fresh,
		      uint32_t *thread);

#endif
