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

/* Place of a function in its file. A user of a list replaces places by times. */
struct elf_made_place {
	uint64_t at;    /* jitdump: time of the record; perf map: bytes of the file up to the end of the line */
	uint64_t after; /* 0; set by users: the function was written after this time */
};

/*
 * Functions in the order of code generation. A later function may overlap an earlier function. Zero-initialised: empty.
 * The list of symbols may have a limit.
 */
struct elf_made_list {
	struct elf_symbol_list symbols;
	struct elf_made_place *places; /* by symbol */
	size_t place_capacity;
	struct elf_line_list lines; /* sorted by symbol */
};

/* Adds a function with its place, like elf_symbol_list_add. */
int elf_made_list_add(struct elf_made_list *made, const struct ptl_symbol *symbol, uint64_t place);
void elf_made_list_free(struct elf_made_list *made);

/* Whether the file's magic number is that of a jitdump. False for a pipe. */
bool elf_is_jitdump(const struct elf_symbol_source *source);

/*
 * Adds all functions of a jitdump, and the compiler's source lines. *pid: the process (may be NULL). Functions before an
 * error stay added. PTL_NOT_OURS, PTL_CORRUPT and PTL_TRUNCATED with "NAME: offset N: ...", PTL_UNSUPPORTED;
 * PTL_NO_MEMORY, also beyond the list's limit.
 */
int elf_jitdump_read(const char *name, const struct elf_symbol_source *source, struct elf_made_list *made,
		     uint32_t *pid);
/* Adds all functions of a perf map. Fails as elf_symbols_perf_map does. */
int elf_perf_map_read(const char *name, const struct elf_symbol_source *source, struct elf_made_list *made);

#endif
