/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwinds stack copies (perf record --call-graph dwarf) with the files that the process had mapped, if this machine has
 * exactly these files.
 */
#ifndef IMPORT_PERF_UNWIND_H
#define IMPORT_PERF_UNWIND_H

#include "common/bytes.h"
#include "common/hash_map.h"
#include "import/perf/attr.h"
#include "import/perf/mapping.h"

struct perf_import;

/* Zero-initialised: empty. */
struct perf_unwinder {
	struct common_hash_map spaces; /* pid: struct perf_space * */
	struct common_byte_map paths;  /* path: index in files */
	struct perf_mapped_file *files;
	size_t file_count;
	size_t open;            /* number of address spaces with open files */
	struct ptl_bytes chain; /* call chain of the current sample */
};

/* Whether the sample can be unwound. Unwinding must wait until all earlier mappings are known. */
bool perf_unwind_wants(const struct perf_sample *sample);

/*
 * Track mappings: code was mapped; a process was forked; a process executed another program, or ended. Return
 * PTL_NO_MEMORY.
 */
int perf_unwind_map(struct perf_unwinder *unwinder, const struct perf_mapping *mapping);
int perf_unwind_fork(struct perf_unwinder *unwinder, uint32_t parent, uint32_t child);
void perf_unwind_forget(struct perf_unwinder *unwinder, uint32_t pid);

/*
 * Completes the sample's call chain: appends the calls of user code to the kernel's calls. An incomplete chain ends
 * with address 0. The chain is valid until the next call. Returns PTL_NO_MEMORY.
 */
int perf_unwind_sample(struct perf_import *import, struct perf_sample *sample);

void perf_unwind_free(struct perf_unwinder *unwinder);

#endif
