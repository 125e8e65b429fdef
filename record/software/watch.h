/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --start-at: a child process traces a program that runs natively with a breakpoint at the function. The child
 * puts the runtime into each process that reaches the function.
 */
#ifndef RECORD_SOFTWARE_WATCH_H
#define RECORD_SOFTWARE_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/channel/channel.h"
#include "record/software/functions.h"

/* The recorder's handle of the watching process. */
struct software_watch {
	pid_t pid;    /* 0: none */
	int attached; /* readable: a byte per process that reached the function; -1: the watching process has ended */
	int request;  /* writable: id of a process to watch; negative before execve of the command */
	int answer;   /* readable: 1 if the command is watched */
};

/* Starts the watching process. PTL_SYSTEM. */
int software_watch_start(const struct channel *channel, const struct software_function *function,
			 struct software_watch *watch);

/* Called in the command's process before execve. False: the process may not be traced. */
bool software_watch_command(const struct software_watch *watch);

/* Watches a running process. PTL_SYSTEM, PTL_UNSUPPORTED. */
int software_watch_process(const struct software_watch *watch, uint32_t pid);

/* Reads what the watching process has reported. */
void software_watch_hear(struct software_watch *watch);

/* Returns whether processes may still reach the function. */
bool software_watch_goes_on(const struct software_watch *watch);

/* Maximal time to wait for the watching process, in milliseconds. */
#define SOFTWARE_WATCH_LEAVE_TIME 5000u

/*
 * Detaches from all processes that have not reached the function, and waits until the watching process has ended. If a thread
 * does not stop in time, the watching process waits for the thread on its own.
 */
void software_watch_stop(struct software_watch *watch);

#endif
