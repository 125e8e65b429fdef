/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds functions of a program or library by name, as offsets in the file. */
#ifndef RECORD_IMAGE_BINARY_H
#define RECORD_IMAGE_BINARY_H

#include <stdint.h>

#include "elf/file.h"
#include "elf/symbol_list.h"

struct record_binary {
	int fd;
	struct elf_file *elf;
	struct elf_symbol_list symbols;
	uint64_t size; /* bytes of the file */
};

/*
 * Fails with PTL_SYSTEM, PTL_NOT_OURS, PTL_CORRUPT or PTL_NO_MEMORY, with the path in the chain. A failed open leaves
 * nothing to close.
 */
int record_binary_open(const char *path, struct record_binary *binary);
void record_binary_close(struct record_binary *binary);

/*
 * Sets the file offsets of the function's first byte and of the end. name: the linker's name, or a name as in
 * query/function_name.h; a whole path has precedence over omitted scopes.
 * Fails with PTL_NOT_FOUND if no function or several functions match; the text lists the matches.
 */
int record_binary_function(const struct record_binary *binary, const char *name, uint64_t *first, uint64_t *end);

#endif
