/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts files with names of code that was made at run time into a trace. */
#ifndef ELF_JIT_ATTACH_H
#define ELF_JIT_ATTACH_H

#include "elf/image_store.h"

/*
 * The open perf map or jitdump of a process, as it is now; name is the one that it had. Empty files, those beyond 256 MiB, and what
 * cannot be read are passed over: only PTL_NO_MEMORY and the failure of the sink are failures.
 */
int elf_jit_attach(const struct elf_image_sink *sink, int fd, uint32_t pid, const char *name);
/*
 * The same of the perf map that the process whose own number is own_pid has written into this folder (a descriptor, or AT_FDCWD for
 * /tmp), if it is a regular file of this user: anybody may write there.
 */
int elf_jit_attach_map(const struct elf_image_sink *sink, int folder, uint32_t own_pid, uint32_t user, uint32_t pid);
/* Whether a compiler calls a jitdump so: "jit-4711.dump". The path need not end with a zero. */
bool elf_is_jitdump_name(const char *path, size_t size);

#endif
