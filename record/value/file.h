/* SPDX-License-Identifier: BSD-2-Clause */
/* A program or library with its DWARF. */
#ifndef RECORD_VALUE_FILE_H
#define RECORD_VALUE_FILE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "elf/file.h"
#include "elf/symbol_list.h"

struct value_file {
	int fd, debug_fd, shared_fd; /* file, separate debug file, file shared by debug files; -1: none */
	struct elf_file *elf, *debug;
	struct elf_symbol_list symbols;
	Elf *libelf, *libelf_debug, *libelf_shared;
	Dwarf *dwarf, *dwarf_shared; /* dwarf: NULL without DWARF */
	Dwarf_CFI *frames;           /* of .eh_frame; NULL: none */
};

/* Opens the file. device and inode: of the wanted file; inode 0: any. PTL_SYSTEM, PTL_NOT_OURS, PTL_CORRUPT, PTL_NO_MEMORY. */
int value_file_open(const char *path, uint64_t device, uint64_t inode, struct value_file *file);
void value_file_close(struct value_file *file);

#endif
