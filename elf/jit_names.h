/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of code that was made while a program ran, from perf maps and jitdump: files that the user names, and those of traces. */
#ifndef ELF_JIT_NAMES_H
#define ELF_JIT_NAMES_H

#include "elf/jitdump.h"

/* Of one file, or several of one process. */
struct elf_jit_names {
	uint32_t pid;
	bool any; /* of any process: nothing says of which */
	struct elf_symbol_list symbols;
	struct elf_line_list lines;
};

/* Those of several processes. Zero-initialised is empty. */
struct elf_jit_set {
	struct elf_jit_names **list;
	size_t count;
};

/*
 * Adds the names of a file of the process; name is for messages. After PTL_CORRUPT, PTL_TRUNCATED and PTL_UNSUPPORTED what comes
 * before the place counts. PTL_NO_MEMORY, also for names beyond 256 MiB.
 */
int elf_jit_set_add(struct elf_jit_set *set, const char *name, const struct elf_symbol_source *source, uint32_t pid);
/* Those of a process; NULL: none. They live as long as the set. */
const struct elf_jit_names *elf_jit_set_find(const struct elf_jit_set *set, uint32_t pid);
void elf_jit_set_free(struct elf_jit_set *set);

/*
 * For the files that the user names. Reads "[PID=]FILE". Without PID a jitdump says its process, and a perf map by its name, perf-PID.map; else the names are of any
 * process. PTL_SYSTEM where there is no such file; PTL_MISUSE for a PID that is none. After PTL_CORRUPT, PTL_TRUNCATED and
 * PTL_UNSUPPORTED what comes before the place counts. PTL_NO_MEMORY, also for names beyond 256 MiB. Not for several threads.
 */
int elf_jit_names_add(const char *argument);
/* Those of a process; NULL: none. They live until elf_jit_names_free. */
const struct elf_jit_names *elf_jit_names_of(uint32_t pid);
void elf_jit_names_free(void);

#endif
