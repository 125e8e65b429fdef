/* SPDX-License-Identifier: BSD-2-Clause */
/* The open ELF file as the two halves of the ELF reader share it. */
#ifndef ELF_STATE_H
#define ELF_STATE_H

#include <gelf.h>

#include "elf/file.h"
#include "elf/symbol_list.h"

struct elf_file {
	Elf *elf;
	GElf_Ehdr header;
	size_t segments; /* program headers */
	size_t sections; /* section headers */
	size_t names;    /* section that holds the sections' names */
	/* Its bytes: */
	int fd; /* or -1: they are in memory */
	const uint8_t *data;
	size_t size;
};

/*
 * libelf reads a section of strings as a whole, and unpacks the section. A section beyond this bound, which a sparse file can state at no cost,
 * and a compressed section, which no linker writes, are not read.
 */
#define ELF_STRINGS_MAX ((uint64_t)64 << 20)

/* The string at an offset of a section of strings; NULL: it is not there. */
const char *elf_string(const struct elf_file *elf, size_t section, uint64_t offset);

/* The first section of this type; and by name, any type where type is SHT_NULL. NULL: none. */
Elf_Scn *elf_section(const struct elf_file *elf, uint32_t type, const char *name, GElf_Shdr *header);

/* Bytes of the file, without what libelf would keep of them. PTL_CORRUPT where they are not there. */
int elf_read(const struct elf_file *elf, uint64_t offset, void *data, size_t size);

/*
 * Adds the functions of the first symbol table of this type, where there is one. PTL_CORRUPT; PTL_NO_MEMORY, also
 * beyond the list's limit.
 */
int elf_add_table(const struct elf_file *elf, uint32_t type, struct elf_symbol_list *symbols);

/*
 * Adds the functions that .eh_frame describes and no symbol of the list begins with: type 'u', and an empty name. A damaged one
 * ends the list of them. PTL_NO_MEMORY, as above.
 */
int elf_add_unwind_functions(const struct elf_file *elf, struct elf_symbol_list *symbols);

/* PTL_CORRUPT with libelf's own words. */
int elf_failure(const char *what);

#endif
