/* SPDX-License-Identifier: BSD-2-Clause */
/* State of the watching process. */
#ifndef RECORD_SOFTWARE_WATCH_STATE_H
#define RECORD_SOFTWARE_WATCH_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/channel/channel.h"
#include "record/software/functions.h"

#define WATCH_BREAKPOINTS 4u /* number of hardware breakpoints of the CPU */
#define WATCH_LINKER 0u

/* A traced thread that runs natively. */
struct watched {
	pid_t tid, pid;
	/*
	 * addresses; 0: none. The first is executed by the dynamic linker after loading libraries; the rest are the
	 * function.
	 */
	uint64_t breakpoints[WATCH_BREAKPOINTS];
	uint8_t bytes[WATCH_BREAKPOINTS]; /* the file's bytes at the addresses */
	bool held;                        /* stays stopped until all threads of the process are stopped */
	bool reached;                     /* held at the function */
	bool abandoned;                   /* the function is ignored: the process could not be stopped */
};

/* Addresses of interest in an image's file, kept so that each file is read once. */
struct watch_file {
	char path[4096];
	uint64_t device, inode; /* as in /proc/PID/maps */
	uint64_t offsets[SOFTWARE_FUNCTIONS_MAX];
	uint8_t bytes[SOFTWARE_FUNCTIONS_MAX]; /* bytes at the offsets */
	size_t count;
	uint64_t linker_break; /* file offset; 0: none */
	uint8_t linker_byte;
};

struct watch {
	const struct channel *channel;
	const struct software_function *function;
	struct watched *threads;
	size_t count, capacity;
	struct watch_file *files;
	size_t file_count, file_capacity;
	int attached, request, answer; /* pipes */
	bool began, ending;
	uint64_t held_since; /* time of CLOCK_MONOTONIC in ms; 0: no thread is held */
	bool said;           /* missing breakpoints were reported */
	bool by_code;        /* breakpoints are int3 in the program's code; else debug registers */
};

/* ---- watch_images.c -------------------------------------------------------------------------- */

/*
 * Searches the images of the process for the function, and sets the breakpoints of its threads.
 * stopped: the stopped thread, or 0 if all are stopped. Running threads are interrupted and armed at their stop by
 * software_watch_arm.
 */
void software_watch_look(struct watch *watch, pid_t pid, pid_t stopped);

/* Sets the breakpoints of a stopped thread. */
void software_watch_arm(struct watch *watch, const struct watched *thread);

/* Takes the breakpoints of a stopped thread away. */
void software_watch_disarm(pid_t tid);

/* ---- watch_code.c: breakpoints in the program's code ------------------------------------------ */

/* Write the breakpoints into the memory of the stopped thread's process, or the original bytes. */
void software_watch_plant(const struct watched *thread);
void software_watch_clear(const struct watched *thread);

/* Returns whether a breakpoint has stopped the thread, and sets the thread back to the breakpoint. */
bool software_watch_step_back(const struct watched *thread);

/* Executes the instruction at the breakpoint where the thread stands. False: the thread has ended. */
bool software_watch_step_over(const struct watched *thread);

/* Stops a running thread, not behind a breakpoint. False: the thread has ended, or does not stop within a second. */
bool software_watch_stop_thread(const struct watched *thread);

/* ---- watch_probe.c --------------------------------------------------------------------------- */

/* Checks that a breakpoint of the CPU stops a process. PTL_UNSUPPORTED: no process stops. PTL_SYSTEM: there is no process for the check. */
int software_watch_try_breakpoint(void);

#endif
