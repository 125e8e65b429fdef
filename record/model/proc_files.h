/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc shows of another process of this user. */
#ifndef RECORD_MODEL_PROC_FILES_H
#define RECORD_MODEL_PROC_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"

struct record_proc_stat {
	uint32_t parent;
	char state;           /* 'Z': dead, and not waited for */
	uint64_t start_ticks; /* since boot; with the pid it names the process */
	uint64_t program;     /* changes when another program is executed; a fork has its parent's */
	uint32_t exit_status; /* of a zombie, as wait(2) */
};

/* false: there is no such process. */
bool record_proc_stat(uint32_t pid, struct record_proc_stat *stat);
/* The same of what the file says; false: it is no such text. */
bool record_proc_parse_stat(const char *text, struct record_proc_stat *stat);

/* Whether the process, which is there, is among the descendants of this one. */
bool record_proc_descends(uint32_t pid, uint32_t ancestor);

/* The pid of a process in its own namespace, and its user; false: there is no such process. */
bool record_proc_identity(uint32_t pid, uint32_t *own_pid, uint32_t *user);
/* The same of what /proc/PID/status says. */
bool record_proc_parse_status(const char *text, uint32_t *own_pid, uint32_t *user);

/* The trace's time of a start; it is up to a tick (10 ms) too early. */
uint64_t record_proc_start_time(uint64_t start_ticks);

/*
 * Puts path, an empty string, the working directory and the arguments into strings, each with a
 * zero behind it, as struct record_program has them. What cannot be read is empty. Whether there were a path and an
 * argument.
 */
bool record_proc_strings(uint32_t pid, struct ptl_bytes *strings);

/*
 * Calls visit with each thread of the process (tids), or each child of one of its threads
 * (children), until it returns a value other than 0, which is returned.
 */
int record_proc_threads(uint32_t pid, int (*visit)(void *context, uint32_t tid), void *context);
int record_proc_children(uint32_t pid, uint32_t tid, int (*visit)(void *context, uint32_t child), void *context);
/* The same with each process of the machine. PTL_SYSTEM. */
int record_proc_processes(int (*visit)(void *context, uint32_t pid), void *context);
/* Whether this kernel lists children (CONFIG_PROC_CHILDREN). */
bool record_proc_has_children(void);

/*
 * The exit status of a process that has ended, by its pidfd: Linux 6.15 keeps it when the process
 * has been waited for. false: not known.
 */
bool record_proc_exit_status(int pidfd, uint32_t *status);

#endif
