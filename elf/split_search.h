/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Split DWARF: a unit of an ELF file, the skeleton, has lines and addresses; a .dwo file, or a package of such files
 * (.dwp), has the rest. The skeleton and its .dwo file share an id of 8 bytes.
 */
#ifndef ELF_SPLIT_SEARCH_H
#define ELF_SPLIT_SEARCH_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/file.h"

/* Limit for a .dwo file, in bytes, to bound memory. */
#define ELF_SPLIT_MAX ((size_t)256 << 20)

/* A skeleton's description of its .dwo file. The strings live as long as the skeleton's DWARF. */
struct elf_split_unit {
	uint64_t id;
	const char *name;   /* of the .dwo file */
	const char *folder; /* folder of compilation; NULL: unknown */
};

/* Reads the skeleton unit *die. Returns false if the unit is no skeleton, or names no file. */
bool elf_split_skeleton(Dwarf_Die *die, struct elf_split_unit *split);

/* Finds the unit with this id in a .dwo file. Returns false if not found. */
bool elf_split_find(Dwarf *dwarf, uint64_t id, Dwarf_Die *die);

struct elf_split_search;

/*
 * Prepares a search for the .dwo files of an ELF file. file: the file's path now; image: its path when mapped; both may
 * be NULL, and must outlive the search. PTL_NO_MEMORY.
 */
int elf_split_search_new(const char *file, const char *image, struct elf_split_search **search);
void elf_split_search_free(struct elf_split_search *search);

/*
 * Reads the .dwo file with the id into new memory, which the caller frees. Returns false if not found. Searches in this
 * order:
 *
 *	FOLDER/NAME, and FOLDER/ with the last part of NAME of each folder of elf_debug_folder
 *	the same names in the folder of the ELF file
 *	NAME relative to the folder of compilation
 *	FILE.dwp, IMAGE.dwp, FOLDER/IMAGE.dwp, FOLDER/ with the last part of IMAGE.dwp
 */
bool elf_split_read(struct elf_split_search *search, const struct elf_split_unit *split, uint8_t **data, size_t *size);

typedef int elf_split_visit(void *context, const struct elf_split_unit *split, const uint8_t *data, size_t size);

/*
 * Visits all available .dwo files of an ELF file, at most `most` bytes in total. file, image: as in
 * elf_split_search_new. Stops at a result of visit other than 0 and returns this result. PTL_NO_MEMORY.
 */
int elf_split_each(const struct elf_file *elf, const char *file, const char *image, uint64_t most,
		   elf_split_visit *visit, void *context);

#endif
