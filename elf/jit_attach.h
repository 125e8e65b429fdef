/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores files with names of run-time generated code in a trace. */
#ifndef ELF_JIT_ATTACH_H
#define ELF_JIT_ATTACH_H

#include "elf/image_store.h"

/*
 * Stores the current content of an open perf map or jitdump of a process. name: the file's name. times: rows of a
 * PTL_ATTACHMENT_JIT_TIMES; NULL or empty: no times are known. Skips empty files, files above 256 MiB, and unreadable
 * files. Only PTL_NO_MEMORY and failures of the sink are returned.
 */
int elf_jit_attach(const struct elf_image_sink *sink, int fd, uint32_t pid, const char *name,
		   const struct ptl_bytes *times);
#define ELF_JIT_TIMES_ROW 24u /* bytes */
/*
 * Opens the perf map in `folder` (a descriptor, or AT_FDCWD for /tmp) written by a process; returns the descriptor, or
 * -1. own_pid: the process's id in its own namespace. Only a regular file owned by `user` is used, as any user may
 * write to /tmp. name: receives the file's name, up to ELF_JIT_NAME_SIZE bytes.
 */
int elf_jit_open_map(int folder, uint32_t own_pid, uint32_t user, char *name);
#define ELF_JIT_NAME_SIZE 32u
/* Whether the file name is that of a jitdump: "jit-4711.dump". The path need not end with a zero byte. */
bool elf_is_jitdump_name(const char *path, size_t size);

#endif
