/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which files processes have mapped, as the kernel reports it: of processes that have ended before their samples are looked at,
 * /proc shows nothing any more.
 */
#ifndef RECORD_TRACEPOINT_UNWIND_PROGRAMS_H
#define RECORD_TRACEPOINT_UNWIND_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tracepoint_mapped {
	uint64_t base, size, file_offset, inode;
	char *path; /* owned */
};

/* What a process has mapped, from an execve on, or from its beginning. */
struct tracepoint_program {
	uint64_t id; /* of no other one */
	uint64_t since;
	struct tracepoint_program *before; /* of the same process; NULL: not known any more */
	struct tracepoint_mapped *maps;    /* code of files, in the order in which it was mapped */
	size_t count, capacity;
	unsigned replaced; /* counts those that others have taken the place of */
};

struct tracepoint_programs;

/* all: of the whole system, who runs already included; else of what this process starts next. PTL_SYSTEM, PTL_NO_MEMORY. */
int tracepoint_programs_open(bool all, struct tracepoint_programs **programs);
/* Also of NULL. */
void tracepoint_programs_close(struct tracepoint_programs *programs);

/* Takes what the kernel has reported by now, which is all that was before what it has written elsewhere by now. PTL_NO_MEMORY. */
int tracepoint_programs_take(struct tracepoint_programs *programs);

/* What the process ran at this time of the trace; NULL: it began before the reports. Good until the next call of the above. */
const struct tracepoint_program *tracepoint_programs_find(const struct tracepoint_programs *programs, uint32_t pid,
							  uint64_t time);

#endif
