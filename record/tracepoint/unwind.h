/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwinds stacks of programs without frame pointers, from registers, a copy of the stack, and DWARF frame descriptions.
 */
#ifndef RECORD_TRACEPOINT_UNWIND_H
#define RECORD_TRACEPOINT_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include "common/hash_map.h"
#include "elf/unwind.h"
#include "record/tracepoint/unwind_programs.h"

#define TRACEPOINT_UNWIND_STACK 8192u /* bytes of stack that the kernel copies per sample */

struct tracepoint_unwinder {
	/* reported mappings; NULL: the kernel does not report them, and /proc is read */
	struct tracepoint_programs *programs;
	struct common_hash_map processes; /* pid: struct unwound * */
	uint64_t gone;                    /* number of stacks of processes whose files were unknown */
};

/*
 * Writes the return addresses, innermost first, at most ELF_UNWIND_FRAMES, and returns their number. time: of the
 * trace.
 * Writes one frame if no unwind table covers the code. PTL_NO_MEMORY.
 */
int tracepoint_unwind(struct tracepoint_unwinder *unwinder, const struct elf_unwind_sample *sample, uint64_t time,
		      uint64_t *frames);
void tracepoint_unwinder_free(struct tracepoint_unwinder *unwinder);

#endif
