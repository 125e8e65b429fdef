/* SPDX-License-Identifier: BSD-2-Clause */
/* Why the kernel forbids tracing a thread. */
#ifndef RECORD_SOFTWARE_DENIED_H
#define RECORD_SOFTWARE_DENIED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Format of a reason, for the number of the process. */
#define SOFTWARE_NO_MAIN_THREAD                                                                                        \
	"the main thread of process %d has ended, and other threads run on: the software source needs the main "       \
	"thread; "                                                                                                     \
	"record the program from its start"

/* Returns whether the thread has ended, also if its entry in /proc remains. */
bool software_denied_has_ended(pid_t pid, pid_t tid);

/* Returns whether an ordinary user's process forbids access by its own user, as after PR_SET_DUMPABLE 0. */
bool software_denied_forbids(pid_t pid);

/* Writes why the living thread may not be traced, and what to do. */
void software_denied_explain(pid_t pid, pid_t tid, char *text, size_t size);

#endif
