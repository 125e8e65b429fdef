/* SPDX-License-Identifier: BSD-2-Clause */
/* Packages of split DWARF (.dwp), version 2 (GNU's, of DWARF 4) and 5. */
#ifndef ELF_SPLIT_PACKAGE_H
#define ELF_SPLIT_PACKAGE_H

#include <stddef.h>
#include <stdint.h>

struct elf_split_package;

/* Takes fd, which is closed in any case. PTL_NOT_OURS: no ELF file; PTL_CORRUPT; PTL_UNSUPPORTED; PTL_NO_MEMORY. */
int elf_split_package_open(int fd, struct elf_split_package **package);
void elf_split_package_close(struct elf_split_package *package);

/*
 * Makes a .dwo file of the unit with this id, in fresh memory, as it was before it was packed: its parts of all sections, and those
 * texts that it refers to. Type units are left out. PTL_NOT_FOUND: there is no such unit; otherwise as above.
 */
int elf_split_package_read(struct elf_split_package *package, uint64_t id, uint8_t **data, size_t *size);

#endif
