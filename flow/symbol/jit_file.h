/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of code made at run time, from perf maps and jitdump files in the trace. */
#ifndef FLOW_SYMBOL_JIT_FILE_H
#define FLOW_SYMBOL_JIT_FILE_H

#include <stdatomic.h>
#include <stdint.h>

#include <ptl/reader.h>

#include "common/hash_map.h"
#include "elf/jit_names.h"

/* The names. Zero-initialised except the trace, which must outlive the structure. Not thread-safe. */
struct flow_jit_files {
	struct ptl_trace *trace;
	struct common_hash_map processes_read; /* processes whose files were read */
	struct elf_jit_set names;
	uint64_t bytes; /* bytes of the files read so far */
	/*
	 * number of functions whose memory was used again for other functions; the last functions give the names for
	 * the whole trace
	 */
	atomic_size_t replaced;
	atomic_size_t unreadable; /* number of damaged files; the entries before the damage are used */
};

/*
 * Returns the trace's names for a process; NULL: no names. Files are read at the first request, up to 1 GiB in total,
 * because a trace may attach one large file to many processes.
 */
const struct elf_jit_names *flow_jit_files_of(struct flow_jit_files *files, uint32_t pid);
void flow_jit_files_free(struct flow_jit_files *files);

#endif
