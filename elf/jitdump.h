/* SPDX-License-Identifier: BSD-2-Clause */
/* jitdump: what a just-in-time compiler writes into jit-PID.dump, records of code that was made, with names and lines. */
#ifndef ELF_JITDUMP_H
#define ELF_JITDUMP_H

#include "elf/symbols_text.h"

/* From this address on code is of this line; file NULL: it ends here. */
struct elf_line {
	uint64_t address;
	const char *file; /* lives as long as the list of symbols */
	uint32_t line;
	uint32_t symbol; /* only while a file is read */
};

/* Zero-initialised is empty. */
struct elf_line_list {
	struct elf_line *list; /* the caller frees it */
	size_t count, capacity;
};

/* By its first bytes; false of what comes through a pipe. */
bool elf_is_jitdump(const struct elf_symbol_source *source);

/*
 * Adds the functions, and, where lines is not NULL, the lines that the compiler wrote, of code that no later code lies on; *pid is the
 * process (may be NULL). What comes before a mistake stays. PTL_NOT_OURS, PTL_CORRUPT and PTL_TRUNCATED with "NAME: offset N: ...",
 * PTL_UNSUPPORTED; PTL_NO_MEMORY, also beyond the list's limit.
 */
int elf_symbols_jitdump(const char *name, const struct elf_symbol_source *source, struct elf_symbol_list *symbols,
			struct elf_line_list *lines, uint32_t *pid);

#endif
