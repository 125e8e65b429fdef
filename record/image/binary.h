/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of a program or library, by name, as places in its file. */
#ifndef RECORD_IMAGE_BINARY_H
#define RECORD_IMAGE_BINARY_H

#include <stdint.h>

#include "elf/file.h"
#include "elf/symbol_list.h"

struct record_binary {
	int fd;
	struct elf_file *elf;
	struct elf_symbol_list symbols;
	uint64_t size; /* of the file */
};

/* PTL_SYSTEM, PTL_NOT_OURS, PTL_CORRUPT, PTL_NO_MEMORY, with the path in the chain; nothing is left to be closed then. */
int record_binary_open(const char *path, struct record_binary *binary);
void record_binary_close(struct record_binary *binary);

/*
 * The function's first byte in the file, and the one behind its last. The name is the linker's, or as query/function_name.h has it.
 * PTL_NOT_FOUND, also where several have the name, with a list of them.
 */
int record_binary_function(const struct record_binary *binary, const char *name, uint64_t *first, uint64_t *end);

#endif
