/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of a schedule by process and over CPUs, and the order of rows. */
#ifndef ANALYSIS_USAGE_SCHEDULE_ROWS_H
#define ANALYSIS_USAGE_SCHEDULE_ROWS_H

#include "analysis/usage/schedule.h"

struct usage_process {
	uint32_t pid;     /* PTL_NO_ID: threads of unknown processes */
	uint32_t process; /* index in the timeline; FLOW_NONE: unknown */
	uint32_t thread;  /* the thread with the most running time */
	size_t threads;
	uint64_t times[USAGE_STATES];
	uint64_t switches, preempted, wakes;
	struct usage_spread delay;
};

/* Sums over the selected CPUs of all machines. Times are nanoseconds; all = busy + idle + unknown + absent. */
struct usage_total {
	size_t cpus;        /* selected CPUs, with and without events */
	size_t cpus_absent; /* of these: CPUs without context switches */
	uint64_t all, busy, idle, unknown, absent;
	uint64_t of_selected;
};

/* Selected rows, the most running time first. */
struct usage_rows {
	struct usage_total total;
	uint32_t *threads; /* numbers of threads; owned */
	size_t thread_count;
	struct usage_process *processes; /* owned */
	size_t process_count;
};

/* Fills the rows. Fails with PTL_NO_MEMORY. Call usage_rows_free in any case. */
int usage_rows_make(struct usage_rows *rows, const struct usage_schedule *schedule, const struct analysis_input *input);
void usage_rows_free(struct usage_rows *rows);
/* Whether the selection has the thread. Special numbers belong to every selection. */
bool usage_rows_want(const struct usage_schedule *schedule, const struct analysis_input *input, uint32_t thread);
/* Whether --pid and --tid select a thread of the pair. */
bool usage_rows_want_pair(const struct usage_schedule *schedule, const struct analysis_input *input, uint32_t a,
			  uint32_t b);
/* Returns the name of a process; "" unknown. Not safe for a terminal. */
const char *usage_process_name(const struct usage_process *process, const struct usage_schedule *schedule,
			       const struct flow_timeline *timeline);

#endif
