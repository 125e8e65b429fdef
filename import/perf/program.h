/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs of processes that existed before the recording. perf reports mappings of such a process sorted by address.
 * The first file may not be the program: code of a JIT or a library may have a lower address.
 */
#ifndef IMPORT_PERF_PROGRAM_H
#define IMPORT_PERF_PROGRAM_H

#include <stdint.h>

#include "common/arena.h"
#include "common/hash_map.h"
#include "import/perf/file.h"

/* How well a mapped file fits a process name, in ascending order. */
enum perf_program_rank {
	PERF_PROGRAM_NONE, /* not a file: anonymous memory, a device, shared memory */
	PERF_PROGRAM_LIBRARY,
	PERF_PROGRAM_FILE,
	PERF_PROGRAM_NAMED, /* the file name begins with the process name */
	PERF_PROGRAM_EXACT,
};

/* Zero-initialised: empty. */
struct perf_programs {
	struct common_hash_map list; /* pid: struct perf_program * */
	struct common_arena arena;
};

enum perf_program_rank perf_program_rank(const char *name, const char *path);

/* Handles a COMM, MMAP or MMAP2 record of rundown. body: size of the record's body. Returns PTL_NO_MEMORY. */
int perf_programs_look(struct perf_programs *programs, const struct perf_record *record, size_t body);

/* Returns the program's path; "": the process has mapped no program; NULL: unknown process. */
const char *perf_programs_find(const struct perf_programs *programs, uint32_t pid);

void perf_programs_free(struct perf_programs *programs);

#endif
