/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls from copies of stacks (perf record --call-graph dwarf): unwound with the files that the process had mapped, if this machine
 * has the very same.
 */
#ifndef IMPORT_PERF_UNWIND_H
#define IMPORT_PERF_UNWIND_H

#include "common/bytes.h"
#include "common/hash_map.h"
#include "import/perf/attr.h"
#include "import/perf/mapping.h"

struct perf_import;

/* Zero-initialised is empty. */
struct perf_unwinder {
	struct common_hash_map spaces; /* pid: struct perf_space * */
	struct common_byte_map paths;  /* of files: index in files */
	struct perf_mapped_file *files;
	size_t file_count;
	size_t open;            /* spaces that hold files open */
	struct ptl_bytes chain; /* of the sample at hand */
};

/* Whether a sample has what unwinding needs; its calls are known only when the mappings before it are. */
bool perf_unwind_wants(const struct perf_sample *sample);

/* Code was mapped; a process was forked; it executes another program, or has ended. PTL_NO_MEMORY. */
int perf_unwind_map(struct perf_unwinder *unwinder, const struct perf_mapping *mapping);
int perf_unwind_fork(struct perf_unwinder *unwinder, uint32_t parent, uint32_t child);
void perf_unwind_forget(struct perf_unwinder *unwinder, uint32_t pid);

/*
 * Makes the sample's call chain whole: the calls of the user's code follow those of the kernel. Calls beyond which nothing is known end
 * with address 0. The chain holds until the next call. PTL_NO_MEMORY.
 */
int perf_unwind_sample(struct perf_import *import, struct perf_sample *sample);

void perf_unwind_free(struct perf_unwinder *unwinder);

#endif
