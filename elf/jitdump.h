/* SPDX-License-Identifier: BSD-2-Clause */
/* Jitdump: the file jit-PID.dump of a just-in-time compiler, with records of generated code, names and lines. */
#ifndef ELF_JITDUMP_H
#define ELF_JITDUMP_H

#include "elf/symbols_text.h"

/* From `address` on, the code belongs to this line. A NULL file ends the preceding line. */
struct elf_line {
	uint64_t address;
	const char *file; /* lives as long as the symbol list */
	uint32_t line;
	uint32_t symbol; /* index of the symbol; valid only while a file is read */
};

/* A zero-initialised list is empty. */
struct elf_line_list {
	struct elf_line *list; /* freed by the caller */
	size_t count, capacity;
};

/* Whether the file's magic number is that of a jitdump. False for a pipe. */
bool elf_is_jitdump(const struct elf_symbol_source *source);

/*
 * Adds the functions, and unless `lines` is NULL the source lines, of code not overwritten by later code. *pid: the
 * process (may be NULL). Data before an error stays added. PTL_NOT_OURS, PTL_CORRUPT and PTL_TRUNCATED with "NAME:
 * offset N: ...", PTL_UNSUPPORTED; PTL_NO_MEMORY, also beyond the list's limit.
 */
int elf_symbols_jitdump(const char *name, const struct elf_symbol_source *source, struct elf_symbol_list *symbols,
			struct elf_line_list *lines, uint32_t *pid);

#endif
