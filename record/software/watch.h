/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --start-at: a process of ours traces a program that runs natively, with a breakpoint of the CPU at the function, and puts the
 * runtime into each process that reaches the function.
 */
#ifndef RECORD_SOFTWARE_WATCH_H
#define RECORD_SOFTWARE_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/channel/channel.h"
#include "record/software/functions.h"

/* The watching process, as the recorder knows it. */
struct software_watch {
	pid_t pid;
	int attached; /* readable: a byte each time that a process reached the function */
	int request;  /* writable: the id of a process that is about to execve the command */
	int answer;   /* readable: 1 if the command is watched */
};

/* Starts the watching process. PTL_UNSUPPORTED: no breakpoint of the CPU stops a program on this machine. PTL_SYSTEM. */
int software_watch_start(const struct channel *channel, const struct software_function *function,
			 struct software_watch *watch);

/* In the command's process, before execve. False: it may not be traced. */
bool software_watch_command(const struct software_watch *watch);

/* Watches a process that runs already. PTL_SYSTEM. */
int software_watch_process(const struct software_watch *watch, uint32_t pid);

/* How many processes have reached the function since the last call. */
unsigned software_watch_reached(const struct software_watch *watch);

/* Detaches from all processes that have not reached the function, and waits until the watching process has ended. */
void software_watch_stop(struct software_watch *watch);

#endif
