/* SPDX-License-Identifier: BSD-2-Clause */
/* A process of a trace as the model of gdb's server. */
#ifndef DUMP_GDB_PROCESS_H
#define DUMP_GDB_PROCESS_H

#include "dump/gdb/model.h"
#include "dump/gdb/trace_blocks.h"
#include "dump/run/run.h"
#include "flow/code/code.h"

struct dump_gdb_process {
	struct dump_gdb_model model;
	struct dump_run *run;
	const struct flow_timeline *timeline;
	struct flow_view_options options;
	struct flow_code *code; /* NULL before the first blocks are read */
	uint32_t process;       /* index in the timeline */
	uint32_t pid;
	uint64_t program_time; /* the current program began at this time; 0: before the trace */
	uint64_t time;         /* address space of this time is shown */
	struct dump_gdb_window window;
	struct flow_symbols *symbols; /* NULL before the first search for a function */
	int signal;                   /* signal that ended the process; 0: none, or unknown */
	uint32_t signal_thread;       /* thread that took the signal; 0 unknown */
};

/*
 * Chooses the process of the options: the first one killed by a signal, else the first one with a program. Reads the
 * blocks of the window of the options. from: as for dump_gdb_process_from; NULL: the last instructions. monitor: the function of the model. Returns PTL_NOT_FOUND, if the process has no blocks; PTL_UNSUPPORTED for 32-bit
 * code; errors of the reader. Close in any case.
 */
int dump_gdb_process_open(struct dump_gdb_process *process, struct dump_run *run, const struct flow_timeline *timeline,
			  uint64_t instructions, const char *from,
			  void (*monitor)(void *context, const char *command, struct ptl_bytes *text));
void dump_gdb_process_close(struct dump_gdb_process *process);

/*
 * Begins the window at the first call of a function, in each thread that calls the function. PTL_MISUSE: no thread calls
 * the function. Other errors as for opening.
 */
int dump_gdb_process_from(struct dump_gdb_process *process, const char *pattern, const struct dump_gdb_window *window);

/* Reads the blocks of another window. On failure the process is unchanged. */
int dump_gdb_process_move(struct dump_gdb_process *process, const struct dump_gdb_window *window);

#endif
