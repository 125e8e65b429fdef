/* SPDX-License-Identifier: BSD-2-Clause */
/* The open ELF file as the two halves of the ELF reader share it. */
#ifndef PTL_RECORD_ELF_STATE_H
#define PTL_RECORD_ELF_STATE_H

#include <gelf.h>

#include "record/elf_file.h"

struct record_elf {
	Elf *elf;
	GElf_Ehdr header;
	size_t segments; /* program headers */
	size_t sections; /* section headers */
	size_t names;    /* section that holds the sections' names */
};

/* The first section of this type; and by name, any type where type is SHT_NULL. NULL: none. */
Elf_Scn *record_elf_section(const struct record_elf *elf, uint32_t type, const char *name,
			    GElf_Shdr *header);

/* PTL_CORRUPT with libelf's own words. */
int record_elf_failure(const char *what);

#endif
