/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwinds stacks of programs without frame pointers, from registers, a copy of the stack, and DWARF frame descriptions.
 */
#ifndef RECORD_KERNEL_EVENT_UNWIND_H
#define RECORD_KERNEL_EVENT_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include "common/hash_map.h"
#include "elf/unwind.h"
#include "record/kernel_event/unwind_programs.h"

#define KERNEL_EVENT_UNWIND_STACK 8192u /* bytes of stack that the kernel copies per sample */

struct kernel_event_unwinder {
	/* reported mappings; NULL: the kernel does not report them, and /proc is read */
	struct kernel_event_programs *programs;
	struct common_hash_map processes; /* pid: struct unwound * */
	uint64_t gone;                    /* number of stacks of processes whose files were unknown */
};

/*
 * Writes the return addresses, innermost first, at most ELF_UNWIND_FRAMES, and returns their number. time: of the
 * trace.
 * Writes one frame if no unwind table covers the code. PTL_NO_MEMORY.
 */
int kernel_event_unwind(struct kernel_event_unwinder *unwinder, const struct elf_unwind_sample *sample, uint64_t time,
			uint64_t *frames);
void kernel_event_unwinder_free(struct kernel_event_unwinder *unwinder);

#endif
