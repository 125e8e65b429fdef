/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that rules name: read once each, relative to the folder of the rule file. */
#ifndef RELOG_RULES_FILES_H
#define RELOG_RULES_FILES_H

#include "common/hash_map.h"
#include "relog/rules/ast.h"

#define RULES_FILES_KEPT ((size_t)16 << 20) /* bytes of files that stay in memory together */
#define RULES_FILE_SMALL (1u << 20)         /* such a file is read whole for a few of its bytes, and no larger one */

/* Zero-initialised, with folder set, is empty. */
struct rules_files {
	const char *folder;
	struct rules_data_file *list;
	size_t count;
	struct common_byte_map by_name;
	size_t bytes;
	uint64_t clock;
};

/*
 * The bytes of a file; they live until the next call. PTL_SYSTEM, PTL_NO_MEMORY (also beyond the bound).
 */
int rules_files_read(struct rules_files *files, const char *name, const uint8_t **data, size_t *size);
/* Bytes at an offset of a file, without reading the rest. PTL_TRUNCATED, and as above. */
int rules_files_read_at(struct rules_files *files, const char *name, uint64_t offset, void *data, size_t size);
/* Opens a file, close-on-exec; the descriptor is the caller's. PTL_SYSTEM, PTL_NO_MEMORY. */
int rules_files_open(const struct rules_files *files, const char *name, int *fd);
/* How many bytes a file has. PTL_SYSTEM, PTL_NO_MEMORY. */
int rules_files_size(struct rules_files *files, const char *name, uint64_t *size);
/* The name as it is opened; in the arena. NULL without memory. */
char *rules_files_path(const struct rules_files *files, const char *name, struct rules_arena *arena);
void rules_files_free(struct rules_files *files);

#endif
