/* SPDX-License-Identifier: BSD-2-Clause */
/* The open ELF file as the two halves of the ELF reader share it. */
#ifndef PTL_ELF_STATE_H
#define PTL_ELF_STATE_H

#include <gelf.h>

#include "elf/file.h"

struct ptl_elf {
	Elf *elf;
	GElf_Ehdr header;
	size_t segments; /* program headers */
	size_t sections; /* section headers */
	size_t names;    /* section that holds the sections' names */
};

/* The first section of this type; and by name, any type where type is SHT_NULL. NULL: none. */
Elf_Scn *ptl_elf_section(const struct ptl_elf *elf, uint32_t type, const char *name,
			    GElf_Shdr *header);

/* PTL_CORRUPT with libelf's own words. */
int ptl_elf_failure(const char *what);

#endif
