/* SPDX-License-Identifier: BSD-2-Clause */
/* Files with the names of code that programs make while they run: perf maps and jitdump. */
#ifndef RECORD_IMAGE_JIT_FILES_H
#define RECORD_IMAGE_JIT_FILES_H

#include "elf/image_store.h"
#include "record/image/image_store.h"

struct record_jit_files;

int record_jit_files_new(const struct elf_image_sink *sink, struct record_jit_files **files);
void record_jit_files_free(struct record_jit_files *files);

/*
 * Of executable memory without a file remembers whose it is, so that its perf map can be found after the process has ended; of a
 * jitdump, which its compiler maps for this purpose, keeps the file open. Nothing is read yet. PTL_NO_MEMORY.
 */
int record_jit_files_note(struct record_jit_files *files, const struct record_mapping *mapping);

/*
 * Puts what the compilers have written into the trace, to be called at the end. A perf map counts if it is a regular file of the
 * user whose process it is: anybody may write to /tmp. Only PTL_NO_MEMORY and the failure of the sink are failures.
 */
int record_jit_files_put(struct record_jit_files *files);

#endif
