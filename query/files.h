/* SPDX-License-Identifier: BSD-2-Clause */
/* Files named in expressions, with names relative to a folder. File contents are cached. */
#ifndef QUERY_FILES_H
#define QUERY_FILES_H

#include "common/hash_map.h"
#include "common/arena.h"

#define QUERY_FILES_KEPT ((size_t)16 << 20) /* maximum bytes of cached files */
#define QUERY_FILE_SMALL (1u << 20)         /* largest file that is read completely for a few of its bytes */

/* Zero-initialised except for folder: empty. */
struct query_files {
	const char *folder;
	struct query_data_file *list;
	size_t count;
	struct common_byte_map by_name;
	size_t bytes;
	uint64_t clock;
};

/* For a process whose expressions come from strangers: expressions read no files from here on, which is PTL_SYSTEM. */
void query_files_forbid(void);
/* Returns the bytes of a file, valid until the next call. Returns PTL_SYSTEM; PTL_NO_MEMORY, also beyond the limit. */
int query_files_read(struct query_files *files, const char *name, const uint8_t **data, size_t *size);
/*
 * Reads bytes at an offset of a file, without reading the rest. Returns PTL_TRUNCATED, and the errors of
 * query_files_read.
 */
int query_files_read_at(struct query_files *files, const char *name, uint64_t offset, void *data, size_t size);
/* Opens a file close-on-exec; the descriptor is the caller's. Returns PTL_SYSTEM, PTL_NO_MEMORY. */
int query_files_open(const struct query_files *files, const char *name, int *fd);
/* Returns the size of a file in bytes. Returns PTL_SYSTEM, PTL_NO_MEMORY. */
int query_files_size(struct query_files *files, const char *name, uint64_t *size);
/* Returns the path of a file, in the arena. NULL: no memory. */
char *query_files_path(const struct query_files *files, const char *name, struct common_arena *arena);
void query_files_free(struct query_files *files);

#endif
