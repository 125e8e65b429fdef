/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds context switches and wake-ups of a trace up: the time of each thread in each state, the time of each CPU, and
 * who woke whom. Reads sched_switch, sched_waking, sched_wakeup and sched_wakeup_new of Linux, CSwitch of Windows and
 * of perf's switch records, and ReadyThread of Windows.
 */
#ifndef ANALYSIS_USAGE_SCHEDULE_H
#define ANALYSIS_USAGE_SCHEDULE_H

#include "analysis/input/input.h"
#include "analysis/usage/pair.h"
#include "analysis/usage/wake_chain.h"
#include "flow/timeline/timeline.h"

enum usage_state {
	USAGE_RUNNING,
	USAGE_WAITING,  /* ready to run, without a CPU */
	USAGE_SLEEPING, /* waits for an event */
	USAGE_BLOCKED,  /* waits uninterruptibly, mostly for a disk (state D of Linux; paging of Windows) */
	USAGE_OFF,      /* off the CPU for an unrecorded reason */
	USAGE_UNKNOWN,  /* nothing is recorded */
	USAGE_ENDED,
};
#define USAGE_STATES USAGE_ENDED /* states whose time is counted */

/* Thread numbers above all threads. */
#define USAGE_IDLE (UINT32_MAX - 1)      /* the idle thread of a CPU */
#define USAGE_INTERRUPT (UINT32_MAX - 2) /* as a waker: an interrupt, on whatever thread */
#define USAGE_NOBODY (UINT32_MAX - 3)    /* no thread, or an unrecorded thread */

struct usage_spread {
	uint64_t count, total, longest, longest_at; /* longest_at: time at which the longest ended */
};

/* Times are nanoseconds within the window. The states of a thread add up to its life within the window. */
struct usage_thread {
	uint32_t tid, pid; /* pid PTL_NO_ID: unknown */
	uint32_t process;  /* index in the timeline; FLOW_NONE: unknown */
	char name[16];     /* last name in the events; "": none */
	const char *timeline_name;
	uint64_t times[USAGE_STATES];
	uint64_t elsewhere;        /* running time on CPUs that --cpu does not select */
	uint64_t switches;         /* switches away from the thread */
	uint64_t preempted;        /* of these: while the thread could run */
	uint64_t migrations;       /* runs on another CPU than the run before */
	uint64_t wakes;            /* wake-ups of the thread */
	struct usage_spread delay; /* times from ready to running */

	/* state of the fold */
	enum usage_state state;
	uint64_t since;
	uint64_t begin, end, next; /* start; end (FLOW_TIME_END: unknown); start of the next thread with the tid */
	uint32_t cpu;              /* number of the last CPU in `cpus`; FLOW_NONE: none */
	uint32_t waker_pair;       /* pair of the wake-up that made the thread ready; USAGE_NO_PAIR */
	uint64_t slept_since;      /* start of the sleep that the last wake-up ended */
	uint64_t woken_at;         /* 0: never */
	uint32_t chain;            /* node of the last wake-up */
	uint32_t waker;
	uint64_t ready_at;
};

struct usage_cpu {
	uint32_t cpu;
	uint64_t busy, idle, unknown; /* add up to the window */
	uint64_t switches;
	uint64_t of_selected; /* part of busy of the threads that --pid and --tid select */
	bool selected;        /* by --cpu */
	bool has_events;

	/* state of the fold */
	uint32_t current; /* thread, USAGE_IDLE, or USAGE_NOBODY */
	uint64_t since;
	uint32_t last; /* thread that ran before; USAGE_NOBODY: none, or at an unknown time */
	uint64_t last_from, last_to;
	uint32_t hint_tid; /* thread whose state before a switch record is known */
	enum usage_state hint;
};

/* A thread's time on a CPU. */
struct usage_slice {
	uint32_t cpu; /* the CPU's number in the trace */
	uint32_t thread;
	uint64_t from, to;      /* within the window */
	uint64_t ready_at;      /* time from which the thread waited for the CPU; 0: unknown */
	uint32_t waker;         /* thread that made it ready, USAGE_INTERRUPT; USAGE_NOBODY: preempted, or unknown */
	enum usage_state after; /* state after the slice; USAGE_RUNNING at the end of the trace */
};

struct usage_schedule;
typedef int usage_slice_function(void *context, const struct usage_schedule *schedule, const struct usage_slice *slice);

struct usage_schedule {
	uint64_t first, last; /* the window */
	uint64_t begin;       /* time of the first switch or wake-up of the trace */
	struct usage_thread *threads;
	size_t thread_count, thread_capacity;
	struct usage_cpu *cpus;
	size_t cpu_count, cpu_capacity;
	struct usage_pairs wakes; /* a: waker; b: woken thread; total: time asleep; delay: until the thread ran */
	struct usage_pairs ahead; /* a: running thread; b: thread that waited for the CPU meanwhile; total: wait */
	struct usage_chains chains;
	uint64_t switches, wakeups; /* events of each kind in the window */
	uint64_t breaks;            /* switches from another thread than the thread that ran before */
	uint64_t lost;              /* events that the trace reports as lost */
	bool partial;               /* switches of some threads only */
	bool has_wakeups;           /* the trace has wake-ups, in the window or not */

	/* state of the fold */
	struct usage_schedule_state *state;
};

/*
 * Reads the trace. each: called at the end of each slice, in the order of ends; or NULL. The window is --time of the
 * input's filter, within the trace. Returns 0, PTL_NO_MEMORY, a status of ptl_process, or a status of `each`. Call
 * usage_schedule_free in any case. A trace without context switches gives no CPUs.
 */
int usage_schedule_read(struct usage_schedule *schedule, const struct analysis_input *input,
			const struct flow_timeline *timeline, usage_slice_function *each, void *context);
void usage_schedule_free(struct usage_schedule *schedule);

/* Whether the trace has context switches in any form, without reading its events. */
bool usage_schedule_possible(const struct ptl_trace *trace, const struct flow_timeline *timeline);

/* Names of states, as in JSON. */
extern const char *const usage_state_names[];

/* Appends "NAME PID/TID", the name of a special number, or "unknown". Safe for a terminal. */
void usage_thread_text(const struct usage_schedule *schedule, const struct flow_timeline *timeline, uint32_t thread,
		       struct ptl_bytes *text);
/* Returns the best known name of a thread; "" without a name. Not safe for a terminal. */
const char *usage_thread_name(const struct usage_thread *thread, const struct flow_timeline *timeline);

/* Returns the part of [from, to] within the window, in nanoseconds. */
static inline uint64_t usage_within(const struct usage_schedule *schedule, uint64_t from, uint64_t to)
{
	const uint64_t first = from > schedule->first ? from : schedule->first;
	const uint64_t last = to < schedule->last ? to : schedule->last;

	return last > first ? last - first : 0;
}

#endif
