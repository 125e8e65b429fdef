/* SPDX-License-Identifier: BSD-2-Clause */
/* Files with names of code made at run time: perf maps and jitdump. */
#ifndef RECORD_IMAGE_JIT_FILES_H
#define RECORD_IMAGE_JIT_FILES_H

#include "elf/image_store.h"
#include "record/image/image_store.h"

struct record_jit_files;

int record_jit_files_new(const struct elf_image_sink *sink, struct record_jit_files **files);
void record_jit_files_free(struct record_jit_files *files);

/*
 * Notes a mapping, without reading files yet. Executable memory without a file: remembers the process, to find its perf
 * map after the process's end. A jitdump, which compilers map for this purpose: keeps the file open.
 * Fails with PTL_NO_MEMORY.
 */
int record_jit_files_note(struct record_jit_files *files, const struct record_mapping *mapping);

/*
 * Notes the start of a program. Opens the folder of a process in another mount namespace, because the folder cannot be
 * found after the end of the process. Fails with PTL_NO_MEMORY.
 */
int record_jit_files_began(struct record_jit_files *files, uint32_t pid);
/*
 * Notes the end of a process. The process may have made code without a report: a map in the recorder's folder counts if
 * written during the recording. Fails with PTL_NO_MEMORY.
 */
int record_jit_files_ended(struct record_jit_files *files, uint32_t pid);

/* Checks the sizes of maps, and stores the times of growth. now: in the trace's clock. Fails with PTL_NO_MEMORY. */
int record_jit_files_look(struct record_jit_files *files, uint64_t now);

/*
 * Writes the compilers' names to the trace, at the end. A perf map must be a regular file of the process's user,
 * because all users may write to /tmp.
 * Fails with PTL_NO_MEMORY, or as the sink.
 */
int record_jit_files_put(struct record_jit_files *files);

/*
 * Returns the number of processes whose map was unavailable, because the processes had ended in a namespace of their
 * own.
 */
uint64_t record_jit_files_unread(const struct record_jit_files *files);

#endif
