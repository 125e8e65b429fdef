/* SPDX-License-Identifier: BSD-2-Clause */
/* Packages of split DWARF (.dwp): version 2 (GNU's, of DWARF 4) and version 5. */
#ifndef ELF_SPLIT_PACKAGE_H
#define ELF_SPLIT_PACKAGE_H

#include <stddef.h>
#include <stdint.h>

struct elf_split_package;

/*
 * Opens a package. Takes ownership of fd, also on failure. PTL_NOT_OURS: no ELF file; PTL_CORRUPT; PTL_UNSUPPORTED;
 * PTL_NO_MEMORY.
 */
int elf_split_package_open(int fd, struct elf_split_package **package);
void elf_split_package_close(struct elf_split_package *package);

/*
 * Rebuilds the .dwo file of the unit with this id, in new memory: the unit's parts of all sections, and the strings
 * that the unit refers to. Type units are left out. PTL_NOT_FOUND: no such unit; else as elf_split_package_open.
 */
int elf_split_package_read(struct elf_split_package *package, uint64_t id, uint8_t **data, size_t *size);

#endif
