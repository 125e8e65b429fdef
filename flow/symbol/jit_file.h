/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of code that was made at run time, from perf maps and jitdump in the trace. */
#ifndef FLOW_SYMBOL_JIT_FILE_H
#define FLOW_SYMBOL_JIT_FILE_H

#include <stdatomic.h>
#include <stdint.h>

#include <ptl/reader.h>

#include "common/hash_map.h"
#include "elf/jit_names.h"

/* Zero-initialised but for the trace, which outlives it. Not for several threads. */
struct flow_jit_files {
	struct ptl_trace *trace;
	struct common_hash_map asked; /* processes */
	struct elf_jit_set names;
	uint64_t bytes; /* of the files that were read */
	atomic_size_t
		replaced; /* functions whose memory had other ones later: these give the name, for all of the trace */
	atomic_size_t unreadable; /* files that are damaged: what comes before the place counts */
};

/*
 * The names that the trace has for a process; NULL: none. They are read when they are first asked for, up to 1 GiB of files in all:
 * a trace may say of many processes that they have the same large one.
 */
const struct elf_jit_names *flow_jit_files_of(struct flow_jit_files *files, uint32_t pid);
void flow_jit_files_free(struct flow_jit_files *files);

#endif
