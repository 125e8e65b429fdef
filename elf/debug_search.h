/* SPDX-License-Identifier: BSD-2-Clause */
/* Separate debug files: where they are looked for, and how it is made sure that one belongs to a file. */
#ifndef ELF_DEBUG_SEARCH_H
#define ELF_DEBUG_SEARCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/file.h"

/*
 * Adds folders, "A:B", to be looked at in this order before /usr/lib/debug. NULL adds nothing. Not for several threads; names
 * stay the caller's, as long as the program runs. PTL_NO_MEMORY.
 */
int elf_debug_path_add(const char *folders);
/* The same, of an option's argument; what the option belongs to is of no use. */
int elf_debug_path_take(void *unused, const char *folders);
/* Whether there are such folders: who names them wants names from there. */
bool elf_debug_path_given(void);
/* Where an open file is, with its own folder; false, and "", where that is not known. */
bool elf_debug_place(int fd, char path[PATH_MAX]);
/* The i-th folder in which debug files are looked for, /usr/lib/debug at last; *size bytes long. NULL: there are no more. */
const char *elf_debug_folder(size_t i, int *size);

/*
 * Opens the regular file at path if it has this build id: a descriptor, close-on-exec, and *elf, which the
 * caller closes; else -1 and NULL.
 */
int elf_open_same(const char *path, const uint8_t *build_id, size_t build_id_size, struct elf_file **elf);

struct elf_debug_wanted {
	const uint8_t *build_id;
	size_t build_id_size;        /* 0: none */
	const char *path;            /* where the file is; NULL: not known */
	const struct elf_file *file; /* the file itself, whose .gnu_debuglink is followed; NULL: it is not here */
	bool lines;                  /* DWARF is wanted, else a full symbol table */
	bool given;                  /* in the folders of elf_debug_path_add alone */
};

/*
 * Opens the first file that has what is wanted, and that is the file's: by its build id, or by the CRC of .gnu_debuglink, where it
 * must not have another build id. A descriptor, close-on-exec, or -1. Of each folder these are looked at:
 *
 *     FOLDER/.build-id/ab/cdef.debug
 *     FOLDER/PATH, FOLDER/PATH.debug, FOLDER/NAME, FOLDER/NAME.debug    by build id; NAME is that of PATH
 *     FOLDER/DIRECTORY/LINK, FOLDER/LINK                                of .gnu_debuglink
 *
 * and for .gnu_debuglink DIRECTORY/LINK and DIRECTORY/.debug/LINK before those of the folders. At last the servers of
 * elf/debuginfod.h are asked.
 */
int elf_debug_search(const struct elf_debug_wanted *wanted);

/*
 * Opens the file that .gnu_debugaltlink of a debug file names, if it has this build id: below the folders by its build id, or
 * by name, which counts from the folder of path, where the debug file is (NULL: not known). A descriptor or -1.
 */
int elf_debug_search_shared(const char *path, const char *name, const uint8_t *build_id, size_t build_id_size);

/*
 * Which debug file .gnu_debuglink of the file names, and the CRC-32 that it has; false where there is none. The name
 * has no "/".
 */
bool elf_debug_link(const struct elf_file *elf, char name[256], uint32_t *crc);

/*
 * Which file .gnu_debugaltlink of a debug file names, and its build id; false where there is none. *name lives until *bytes, which
 * the caller frees, is freed.
 */
bool elf_debug_shared_link(const struct elf_file *elf, uint8_t **bytes, const char **name, const uint8_t **build_id,
			   size_t *build_id_size);

#endif
