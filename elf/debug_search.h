/* SPDX-License-Identifier: BSD-2-Clause */
/* Separate debug files: where to search, and how to verify that a debug file belongs to an ELF file. */
#ifndef ELF_DEBUG_SEARCH_H
#define ELF_DEBUG_SEARCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/file.h"

/*
 * Adds folders, "A:B", to be searched in this order before /usr/lib/debug. NULL adds nothing. Not thread-safe. The
 * caller keeps the names alive while the program runs. PTL_NO_MEMORY.
 */
int elf_debug_path_add(const char *folders);
/*
 * As elf_debug_path_add, as a callback of the option parser, and warns about missing folders. The first argument is
 * unused.
 */
int elf_debug_path_take(void *unused, const char *folders);
/* Whether elf_debug_path_add added folders: the user wants names from these folders. */
bool elf_debug_path_given(void);
/* Finds the path of an open file. Returns false, and an empty path, if the path is unknown. */
bool elf_debug_place(int fd, char path[PATH_MAX]);
/* Returns the i-th folder to search, of *size bytes; the last folder is /usr/lib/debug. NULL: no more folders. */
const char *elf_debug_folder(size_t i, int *size);

struct elf_debug_wanted {
	const uint8_t *build_id;
	size_t build_id_size;        /* 0: no build id */
	const char *path;            /* path of the file; NULL: unknown */
	const struct elf_file *file; /* the file itself, for its .gnu_debuglink; NULL: not available */
	bool lines;                  /* DWARF is wanted; else a full symbol table */
	bool given;                  /* search only the folders of elf_debug_path_add */
};

/*
 * Searches the debug file of a file. Returns the first file that has the wanted data and belongs to the file: by its
 * build id, or by the CRC of .gnu_debuglink, if its build id does not differ. Returns a close-on-exec descriptor or -1.
 * Searched in each folder:
 *
 *	FOLDER/.build-id/ab/cdef.debug
 *	FOLDER/PATH, FOLDER/PATH.debug, FOLDER/NAME, FOLDER/NAME.debug by build id; NAME is the last component of PATH
 *	FOLDER/DIRECTORY/LINK, FOLDER/LINK of .gnu_debuglink
 *
 * For .gnu_debuglink, DIRECTORY/LINK and DIRECTORY/.debug/LINK are searched before the folders. Last, the servers of
 * elf/debuginfod.h are queried.
 */
int elf_debug_search(const struct elf_debug_wanted *wanted);

/*
 * Opens the file named by .gnu_debugaltlink of a debug file, if its build id matches. Searches the folders by build id,
 * then by name. A relative name is relative to the folder of `path`, the debug file's path (NULL: unknown). Returns a
 * descriptor or -1.
 */
int elf_debug_search_shared(const char *path, const char *name, const uint8_t *build_id, size_t build_id_size);

/*
 * Reads .gnu_debuglink of a file: the debug file's name, without "/", and its CRC-32. Returns false if the section is
 * missing or invalid.
 */
bool elf_debug_link(const struct elf_file *elf, char name[256], uint32_t *crc);

/*
 * Reads .gnu_debugaltlink of a debug file: name and build id of the shared file. Returns false if the section is
 * missing or invalid. *name and *build_id point into *bytes, which the caller frees.
 */
bool elf_debug_shared_link(const struct elf_file *elf, uint8_t **bytes, const char **name, const uint8_t **build_id,
			   size_t *build_id_size);

#endif
