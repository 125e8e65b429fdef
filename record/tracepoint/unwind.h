/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of programs that were compiled without frame pointers: from registers and a copy of the stack, by what DWARF says of frames. */
#ifndef RECORD_TRACEPOINT_UNWIND_H
#define RECORD_TRACEPOINT_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include "common/hash_map.h"
#include "elf/unwind.h"
#include "record/tracepoint/unwind_programs.h"

#define TRACEPOINT_UNWIND_STACK 8192u /* bytes that the kernel copies */

struct tracepoint_unwinder {
	struct tracepoint_programs *programs; /* NULL: the kernel does not report them, and /proc is looked at */
	struct common_hash_map processes;     /* pid: struct unwound * */
	uint64_t gone;                        /* stacks of processes of which nothing was known any more */
};

/*
 * Writes the addresses of the calls, the innermost first, at most ELF_UNWIND_FRAMES, and returns how many. time: of the trace.
 * One frame alone where nothing says where others are. PTL_NO_MEMORY.
 */
int tracepoint_unwind(struct tracepoint_unwinder *unwinder, const struct elf_unwind_sample *sample, uint64_t time,
		      uint64_t *frames);
void tracepoint_unwinder_free(struct tracepoint_unwinder *unwinder);

#endif
