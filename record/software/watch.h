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
	pid_t pid;
	int attached; /* readable: a byte per process that reached the function */
	int request;  /* writable: id of a process to watch; negative before execve of the command */
	int answer;   /* readable: 1 if the command is watched */
};

/* Starts the watching process. PTL_SYSTEM. */
int software_watch_start(const struct channel *channel, const struct software_function *function,
			 struct software_watch *watch);

/* Called in the command's process before execve. False: the process may not be traced. */
bool software_watch_command(const struct software_watch *watch);

/* Watches a running process. PTL_SYSTEM. */
int software_watch_process(const struct software_watch *watch, uint32_t pid);

/* Returns the number of processes that reached the function since the last call. */
unsigned software_watch_reached(const struct software_watch *watch);

/* Detaches from all processes that have not reached the function, and waits until the watching process has ended. */
void software_watch_stop(struct software_watch *watch);

#endif
