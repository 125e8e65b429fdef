/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads facts about other processes of this user from /proc. */
#ifndef RECORD_PROC_PROC_FILES_H
#define RECORD_PROC_PROC_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"

struct record_proc_stat {
	uint32_t parent;
	char state; /* 'Z': dead without a wait */
	bool kernel_thread;
	uint64_t start_ticks; /* since boot; with the pid, identifies the process */
	uint64_t program;     /* changes at an execve; a forked child has the value of its parent */
	uint32_t exit_status; /* exit status of a zombie, as of wait(2) */
};

/* Returns false if the process does not exist. */
bool record_proc_stat(uint32_t pid, struct record_proc_stat *stat);
/* Parses the text of /proc/PID/stat. Returns false if the text is invalid. */
bool record_proc_parse_stat(const char *text, struct record_proc_stat *stat);

/* Checks whether an existing process is a descendant of `ancestor`. */
bool record_proc_descends(uint32_t pid, uint32_t ancestor);

/* Reads the pid in the process's own namespace, and the user. Returns false if the process does not exist. */
bool record_proc_identity(uint32_t pid, uint32_t *own_pid, uint32_t *user);
/* Parses the text of /proc/PID/status. */
bool record_proc_parse_status(const char *text, uint32_t *own_pid, uint32_t *user);

/* Returns the process of a thread; 0 if the thread does not exist. */
uint32_t record_proc_of_thread(uint32_t tid);

/* Converts a start to the trace's time, up to a tick (10 ms) too early. */
uint64_t record_proc_start_time(uint64_t start_ticks);

/*
 * Writes path, an empty string, working directory and arguments to strings, zero-terminated as in struct
 * record_program. Unreadable strings are empty. Returns true if a path and an argument were readable.
 */
bool record_proc_strings(uint32_t pid, struct ptl_bytes *strings);

/* Reads the name of a process: at most 15 bytes, more for some kernel threads. Returns false if unreadable. */
bool record_proc_name(uint32_t pid, char *name, size_t room);

/*
 * Calls visit with each thread of the process (tids), or each child of a thread (children). Stops at the first result
 * other than 0, and returns the result.
 */
int record_proc_threads(uint32_t pid, int (*visit)(void *context, uint32_t tid), void *context);
int record_proc_children(uint32_t pid, uint32_t tid, int (*visit)(void *context, uint32_t child), void *context);
/* Calls visit with each process of the machine, likewise. Fails with PTL_SYSTEM. */
int record_proc_processes(int (*visit)(void *context, uint32_t pid), void *context);
/* Checks whether the kernel lists children (CONFIG_PROC_CHILDREN). */
bool record_proc_has_children(void);

/* Checks whether the process of the pidfd has ended, waited for or not. false for the pidfd -1. */
bool record_proc_has_ended(int pidfd);
/*
 * Reads the exit status of an ended process, as of wait(2). Linux 6.15 keeps the status after a wait; older kernels have the
 * status only until somebody waits. Returns false if unknown, and for the pidfd -1.
 */
bool record_proc_wait_status(int pidfd, uint32_t pid, uint32_t *status);
/* Makes the strings of a program without an entry in /proc. */
void record_proc_name_strings(struct ptl_bytes *strings, const char *path, const char *name);

#endif
