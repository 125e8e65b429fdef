/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs of processes that were there before perf began. perf reports the mappings of such a process in order of
 * address, so the first file is not always the program: a JIT's code or a library may lie below.
 */
#ifndef IMPORT_PERF_PROGRAM_H
#define IMPORT_PERF_PROGRAM_H

#include <stdint.h>

#include "common/arena.h"
#include "common/hash_map.h"
#include "import/perf/file.h"

/* How well a mapped file fits a process of a name, the best last. */
enum perf_program_rank {
	PERF_PROGRAM_NONE, /* no file: anonymous memory, a device, shared memory */
	PERF_PROGRAM_LIBRARY,
	PERF_PROGRAM_FILE,
	PERF_PROGRAM_NAMED, /* the file's name begins with the name */
	PERF_PROGRAM_EXACT,
};

/* Zero-initialised is empty. */
struct perf_programs {
	struct common_hash_map list; /* pid: struct perf_program * */
	struct common_arena arena;
};

enum perf_program_rank perf_program_rank(const char *name, const char *path);

/* Takes a COMM, MMAP or MMAP2 record, with a body of this size, that reports what was there before. PTL_NO_MEMORY. */
int perf_programs_look(struct perf_programs *programs, const struct perf_record *record, size_t body);

/* The path of the program of a process; "": it has mapped none; NULL: the process was not reported. */
const char *perf_programs_find(const struct perf_programs *programs, uint32_t pid);

void perf_programs_free(struct perf_programs *programs);

#endif
