/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that expressions name: read once each, relative to one folder. */
#ifndef QUERY_FILES_H
#define QUERY_FILES_H

#include "common/hash_map.h"
#include "common/arena.h"

#define QUERY_FILES_KEPT ((size_t)16 << 20) /* bytes of files that stay in memory together */
#define QUERY_FILE_SMALL (1u << 20)         /* such a file is read whole for a few of its bytes, and no larger one */

/* Zero-initialised, with folder set, is empty. */
struct query_files {
	const char *folder;
	struct query_data_file *list;
	size_t count;
	struct common_byte_map by_name;
	size_t bytes;
	uint64_t clock;
};

/*
 * The bytes of a file; they live until the next call. PTL_SYSTEM, PTL_NO_MEMORY (also beyond the bound).
 */
int query_files_read(struct query_files *files, const char *name, const uint8_t **data, size_t *size);
/* Bytes at an offset of a file, without reading the rest. PTL_TRUNCATED, and as above. */
int query_files_read_at(struct query_files *files, const char *name, uint64_t offset, void *data, size_t size);
/* Opens a file, close-on-exec; the descriptor is the caller's. PTL_SYSTEM, PTL_NO_MEMORY. */
int query_files_open(const struct query_files *files, const char *name, int *fd);
/* How many bytes a file has. PTL_SYSTEM, PTL_NO_MEMORY. */
int query_files_size(struct query_files *files, const char *name, uint64_t *size);
/* The name as it is opened; in the arena. NULL without memory. */
char *query_files_path(const struct query_files *files, const char *name, struct common_arena *arena);
void query_files_free(struct query_files *files);

#endif
