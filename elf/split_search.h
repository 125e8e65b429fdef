/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Split DWARF: a unit of an ELF file, the skeleton, has lines and addresses; a .dwo file has the rest, or a package of such files (.dwp).
 * Both have the same id, of 8 bytes.
 */
#ifndef ELF_SPLIT_SEARCH_H
#define ELF_SPLIT_SEARCH_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/file.h"

/* A larger .dwo file is not read: a bound on memory. */
#define ELF_SPLIT_MAX ((size_t)256 << 20)

/* What a skeleton says of its .dwo file; texts live as long as its DWARF. */
struct elf_split_unit {
	uint64_t id;
	const char *name;   /* of the file */
	const char *folder; /* where it was compiled; NULL: not known */
};

/* False where the unit, which *die describes, is no skeleton, or names no file. */
bool elf_split_skeleton(Dwarf_Die *die, struct elf_split_unit *split);

/* The unit with this id of a .dwo file; false where it has none. */
bool elf_split_find(Dwarf *dwarf, uint64_t id, Dwarf_Die *die);

struct elf_split_search;

/*
 * Where the .dwo files of an ELF file are looked for: file is where it is, image where it was mapped; either may be NULL, and lives
 * as long as the search. PTL_NO_MEMORY.
 */
int elf_split_search_new(const char *file, const char *image, struct elf_split_search **search);
void elf_split_search_free(struct elf_split_search *search);

/*
 * The .dwo file with the id, in fresh memory (the caller frees it); false where there is none. In this order:
 *
 *     FOLDER/NAME, and FOLDER/ with the last part of NAME        of each folder of elf_debug_folder
 *     the same of the folder in which the ELF file is
 *     NAME from where it was compiled
 *     FILE.dwp, IMAGE.dwp, FOLDER/IMAGE.dwp, FOLDER/ with the last part of IMAGE.dwp
 */
bool elf_split_read(struct elf_split_search *search, const struct elf_split_unit *split, uint8_t **data, size_t *size);

typedef int elf_split_visit(void *context, const struct elf_split_unit *split, const uint8_t *data, size_t size);

/*
 * All .dwo files of an ELF file that are there, with `most` bytes at most in all; file and image as in elf_split_search_new. Ends
 * with what visit returns, if that is not 0. PTL_NO_MEMORY.
 */
int elf_split_each(const struct elf_file *elf, const char *file, const char *image, uint64_t most,
		   elf_split_visit *visit, void *context);

#endif
