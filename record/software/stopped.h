/* SPDX-License-Identifier: BSD-2-Clause */
/* Stops all threads of a process and puts the runtime into the process. This process is the tracer. */
#ifndef RECORD_SOFTWARE_STOPPED_H
#define RECORD_SOFTWARE_STOPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "record/channel/channel.h"
#include "record/software/shared/start.h"

/* A stopped thread. */
struct software_stopped_thread {
	pid_t tid;
	bool prepared; /* the thread's signals are blocked */
	struct user_regs_struct regs;
	uint64_t mask; /* blocked signals */
};

struct software_stopped {
	pid_t pid;
	struct software_stopped_thread *threads;
	size_t count, capacity;
	size_t confirmed; /* the first `confirmed` threads are known to be stopped */
	bool busy;        /* another recording holds the process, or has just ended */
	char text[512];   /* reason of a failure, and remedy */
};

/*
 * Seizes and stops all threads of stopped->pid that are not in stopped->threads, also threads that begin meanwhile.
 * options: PTRACE_O_*.
 */
bool software_stop_threads(struct software_stopped *stopped, unsigned options);

/*
 * Puts the runtime into the process and releases all threads into translated code. False: all threads are still stopped
 * and unchanged; stopped->text has the reason.
 */
bool software_stopped_inject(struct software_stopped *stopped, const struct channel_config *config);

/* Adds a thread that this process traces and has interrupted. False: no memory. */
bool software_stopped_add(struct software_stopped *stopped, pid_t tid);

/* Lets all threads go on natively. request: PTRACE_CONT or PTRACE_DETACH. */
void software_stopped_end(struct software_stopped *stopped, int request);

/* Lets all threads go on natively, without a tracer. */
void software_stopped_release(struct software_stopped *stopped);

#endif
