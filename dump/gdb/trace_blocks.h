/* SPDX-License-Identifier: BSD-2-Clause */
/* The executed blocks of a process, for a window of instructions. */
#ifndef DUMP_GDB_TRACE_BLOCKS_H
#define DUMP_GDB_TRACE_BLOCKS_H

#include "dump/gdb/function_start.h"
#include "dump/gdb/model.h"
#include "flow/view/view.h"

struct dump_gdb_window {
	uint64_t first_time, last_time; /* trace clock, inclusive; last_time 0: no end */
	uint64_t instructions;          /* largest number of instructions of a thread */
	bool first;                     /* keeps the first instructions, not the last */
	/* Each thread begins with its first call of this function, within the times. NULL: no function. */
	const struct dump_gdb_function *from;
};

/*
 * Decodes the window, and replaces the threads of the model. process: index in the timeline. options: selection of the process, engine, threads;
 * options->code receives the loaded code. Threads without blocks are left out.
 * Returns PTL_NOT_FOUND without any blocks or call of window->from, PTL_UNSUPPORTED for 32-bit code, or an error of flow_view_run; then the
 * threads are unchanged.
 */
int dump_gdb_blocks_read(struct ptl_trace *trace, const struct flow_timeline *timeline, uint32_t process,
			 const struct flow_view_options *options, const struct dump_gdb_window *window,
			 struct dump_gdb_model *model);
void dump_gdb_threads_free(struct dump_gdb_thread *threads, size_t count);

#endif
