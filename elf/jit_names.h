/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of run-time generated code, from perf maps and jitdumps: files given by the user, and files stored in traces.
 */
#ifndef ELF_JIT_NAMES_H
#define ELF_JIT_NAMES_H

#include "elf/jitdump.h"

/* A file of a process. */
struct elf_jit_file {
	size_t first; /* index of the file's first symbol */
	bool jitdump; /* places of symbols are times; else bytes of a perf map */
};

/* Names from one file, or from several files of one process. */
struct elf_jit_names {
	uint32_t pid;
	bool any; /* applies to any process, as the process is unknown */
	struct elf_made_list made;
	struct elf_jit_file *files;
	size_t file_count, file_capacity;
};

/* Names of several processes. A zero-initialised set is empty. */
struct elf_jit_set {
	struct elf_jit_names **list;
	size_t count;
};

/*
 * Adds the names from a process's file. name: for messages. After PTL_CORRUPT, PTL_TRUNCATED and PTL_UNSUPPORTED, the
 * names before the faulty place are in the set. PTL_NO_MEMORY, also if a process's names exceed 256 MiB.
 */
int elf_jit_set_add(struct elf_jit_set *set, const char *name, const struct elf_symbol_source *source, uint32_t pid);
/* Returns the names of a process, or NULL. They live as long as the set. */
const struct elf_jit_names *elf_jit_set_find(const struct elf_jit_set *set, uint32_t pid);
void elf_jit_set_free(struct elf_jit_set *set);

/*
 * Adds a file given by the user as "[PID=]FILE". Without PID, a jitdump contains its process, and a perf map has the
 * process in its name, perf-PID.map; else the names apply to any process. PTL_SYSTEM: the file cannot be opened;
 * PTL_MISUSE: invalid PID. After PTL_CORRUPT, PTL_TRUNCATED and PTL_UNSUPPORTED, the names before the faulty place are
 * added. PTL_NO_MEMORY, also if a process's names exceed 256 MiB. Not thread-safe.
 */
int elf_jit_names_add(const char *argument);
/* Returns the names from all files of the user. They live until elf_jit_names_free. */
const struct elf_jit_set *elf_jit_names_given(void);
void elf_jit_names_free(void);

#endif
