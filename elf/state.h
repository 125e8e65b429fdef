/* SPDX-License-Identifier: BSD-2-Clause */
/* The open ELF file, shared by the sources of the ELF reader. */
#ifndef ELF_STATE_H
#define ELF_STATE_H

#include <gelf.h>

#include "elf/file.h"
#include "elf/symbol_list.h"

struct elf_file {
	Elf *elf;
	GElf_Ehdr header;
	size_t segments; /* number of program headers */
	size_t sections; /* number of section headers */
	size_t names;    /* index of the section with the section names */
	/* Source of the bytes: */
	int fd; /* -1: the bytes are in memory */
	const uint8_t *data;
	size_t size;
};

/*
 * Limit for a string section. libelf reads a string section whole and unpacks a compressed one. Sections above the
 * limit, which a sparse file can declare at no cost, and compressed sections, which no linker writes, are not read.
 */
#define ELF_STRINGS_MAX ((uint64_t)64 << 20)

/* Returns the string at an offset of a string section; NULL if out of range. */
const char *elf_string(const struct elf_file *elf, size_t section, uint64_t offset);

/* Returns the first section with this type and name. SHT_NULL: any type; name NULL: any name. NULL: not found. */
Elf_Scn *elf_section(const struct elf_file *elf, uint32_t type, const char *name, GElf_Shdr *header);

/* Reads bytes of the file, without libelf's caching. PTL_CORRUPT if the bytes are not in the file. */
int elf_read(const struct elf_file *elf, uint64_t offset, void *data, size_t size);

/*
 * Adds the functions of the first symbol table of this type, if any. PTL_CORRUPT; PTL_NO_MEMORY, also beyond the list's
 * limit.
 */
int elf_add_table(const struct elf_file *elf, uint32_t type, struct elf_symbol_list *symbols);

/*
 * Adds the functions that .eh_frame describes, except at addresses where a symbol of the list starts: type 'u', empty
 * name. A damaged entry ends the reading. PTL_NO_MEMORY, also beyond the list's limit.
 */
int elf_add_unwind_functions(const struct elf_file *elf, struct elf_symbol_list *symbols);

/* Fails with PTL_CORRUPT and libelf's error text. */
int elf_failure(const char *what);

#endif
