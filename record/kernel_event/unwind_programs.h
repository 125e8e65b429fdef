/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that processes have mapped, from the kernel's reports. /proc shows nothing for a process that ended before its
 * samples are read.
 */
#ifndef RECORD_KERNEL_EVENT_UNWIND_PROGRAMS_H
#define RECORD_KERNEL_EVENT_UNWIND_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_event_mapped {
	uint64_t base, size, file_offset, inode;
	char *path; /* owned */
};

/* Files mapped by a process since an execve or since the process began. */
struct kernel_event_program {
	uint64_t id; /* unique number */
	uint64_t since;
	struct kernel_event_program *before; /* previous program of the process; NULL: none, or forgotten */
	struct kernel_event_mapped *maps;    /* executable mappings of files, in the order of mapping */
	size_t count, capacity;
	unsigned replaced; /* number of times that a new mapping removed older mappings */
};

struct kernel_event_programs;

/*
 * Opens the reports. all: for the whole system, with all running processes; else for processes that this process starts
 * next. PTL_SYSTEM, PTL_NO_MEMORY.
 */
int kernel_event_programs_open(bool all, struct kernel_event_programs **programs);
/* NULL is permitted. */
void kernel_event_programs_close(struct kernel_event_programs *programs);

/*
 * Reads the kernel's reports so far: at least all reports that precede any sample the kernel has written by now.
 * PTL_NO_MEMORY.
 */
int kernel_event_programs_take(struct kernel_event_programs *programs);

/*
 * Returns the program that the process ran at a time of the trace; NULL: the process is unknown or `time` is before its
 * first report. Valid until the next call of kernel_event_programs_take.
 */
const struct kernel_event_program *kernel_event_programs_find(const struct kernel_event_programs *programs,
							      uint32_t pid, uint64_t time);

#endif
