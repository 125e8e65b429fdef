/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes and threads of an import of perf.data. */
#ifndef IMPORT_PERF_PROCESS_STATE_H
#define IMPORT_PERF_PROCESS_STATE_H

#include "import/perf/import.h"

#define PERF_NAME_SIZE 64

enum perf_waits {
	PERF_NOTHING_WAITS,
	PERF_RUNDOWN_WAITS,
	PERF_EXEC_WAITS,
	PERF_NAME_WAITS, /* a COMM record of an old kernel, which does not tell whether the name is from exec */
};

/*
 * A process. Its start event, or exec event, may be pending until a record names the process, or the program's file is
 * mapped.
 */
struct perf_process {
	uint64_t key;
	uint32_t pid;
	uint32_t parent;
	uint32_t threads;  /* known live threads */
	uint32_t programs; /* number of execs so far; threads of an earlier program are gone */
	enum perf_waits waits;
	struct ptl_event pending; /* time, CPU and thread of the pending event */
	char name[PERF_NAME_SIZE];
	char new_name[PERF_NAME_SIZE]; /* name of PERF_NAME_WAITS */
	bool ended;
};

/* The last thread with a tid. */
struct perf_task {
	uint64_t key;      /* key of the thread's process */
	uint32_t programs; /* `programs` of the process when the thread was first seen */
	bool alive;
	char name[PERF_NAME_SIZE];
};

/* ---- process_table.c */

/* Returns the process with a pid; NULL: unknown. */
struct perf_process *perf_process_find(const struct perf_import *import, uint32_t pid);
/* Adds a process, or replaces the process with the pid. Returns PTL_NO_MEMORY. */
int perf_process_add(struct perf_import *import, uint32_t pid, uint32_t parent, struct perf_process **added);
struct perf_task *perf_task_find(const struct perf_import *import, uint32_t tid);
bool perf_task_is_alive(const struct perf_task *task, const struct perf_process *process);
/* Marks a thread as alive. *started: the thread was not alive before. Returns PTL_NO_MEMORY. */
int perf_task_start(struct perf_import *import, struct perf_process *process, uint32_t tid, const char *name,
		    bool *started);
/*
 * Whether the thread has ended before. Some kernels report the end of a thread twice, and an ended process has no
 * threads.
 */
bool perf_task_has_ended(const struct perf_import *import, const struct perf_process *process, uint32_t tid);

/* ---- process_event.c. Functions return PTL_NO_MEMORY, PTL_SYSTEM. `from` has time, CPU and thread of the event. */

int perf_process_write(struct perf_import *import, const struct perf_process *process, uint8_t opcode, const char *path,
		       const struct ptl_event *from);
int perf_thread_write(struct perf_import *import, uint32_t pid, uint32_t tid, const char *name, uint8_t opcode,
		      const struct ptl_event *from);
/* Writes the new name of a thread, as rundown. A thread that was unknown has existed from the start. */
int perf_task_rename(struct perf_import *import, struct perf_process *process, uint32_t tid, const char *name,
		     const struct ptl_event *from);
/* Lets an event of the process wait. */
void perf_process_wait(struct perf_process *process, enum perf_waits what, const struct ptl_event *from);
/* Handles exec: the process has one thread, the main thread. */
int perf_process_exec(struct perf_import *import, struct perf_process *process, const char *name,
		      const struct ptl_event *at);
/* Writes the pending event. path: file of the program; NULL: unknown. */
int perf_process_release(struct perf_import *import, struct perf_process *process, const char *path);

#endif
