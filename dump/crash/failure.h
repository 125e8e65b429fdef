/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that failed, from the events of a trace. No flow is decoded. */
#ifndef DUMP_CRASH_FAILURE_H
#define DUMP_CRASH_FAILURE_H

#include "dump/run/run.h"
#include "flow/timeline/timeline.h"

enum dump_failure_kind {
	DUMP_FAILURE_SIGNAL, /* died of a signal */
	DUMP_FAILURE_EXIT,   /* ended with a status other than 0 */
	DUMP_FAILURE_NONE,   /* no failure is known: the process runs at the end of the trace */
};

struct dump_failure {
	uint32_t process; /* index in the timeline */
	uint32_t pid;
	enum dump_failure_kind kind;
	uint32_t number; /* signal, or exit status */
	bool windows;    /* the exit status is a code of Windows */
	bool core;       /* dumped core */
	bool sent;       /* a signal that usually comes from outside of the process, such as SIGTERM */
	uint64_t end;    /* trace clock; FLOW_TIME_END */
	const struct flow_fatal_signal *fatal; /* thread and address of the signal; NULL unknown */
};

struct dump_failures {
	struct dump_failure *list; /* owned; the likely cause comes first */
	size_t count;
};

/*
 * Lists the failed processes of the options' selection. Deaths by a signal of the process's own come first, in order of
 * time. Then, below each failed parent, the child that failed last. Failed children of parents that ended with status 0
 * come last. Free with dump_failures_free. Returns 0 or PTL_NO_MEMORY.
 */
int dump_failures_find(struct dump_failures *failures, const struct dump_run *run,
		       const struct flow_timeline *timeline);
/* As dump_failures_find, for selected processes that run at the end of the trace, in order of the trace. */
int dump_failures_find_running(struct dump_failures *failures, const struct dump_run *run,
			       const struct flow_timeline *timeline);
void dump_failures_free(struct dump_failures *failures);

/* Appends "orders (pid 2309)", safe for a terminal. */
void dump_failure_name(const struct dump_failure *failure, const struct flow_timeline *timeline,
		       struct ptl_bytes *text);
/* Appends "died of SIGSEGV (address 0x0)", "exited with status 3" or "runs at the end of the trace". */
void dump_failure_text(const struct dump_failure *failure, struct ptl_bytes *text);
/* Appends both, and the thread if an event names the thread: "thread 2310 (worker-2) of orders (pid 2309) died of SIGSEGV". */
void dump_failure_sentence(const struct dump_failure *failure, const struct flow_timeline *timeline,
			   struct ptl_bytes *text);

#endif
