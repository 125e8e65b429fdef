/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens DWARF with libdw. */
#ifndef ELF_DWARF_OPEN_H
#define ELF_DWARF_OPEN_H

#include <elfutils/libdw.h>

/*
 * As dwarf_begin_elf, for reading. Returns NULL, too, for a file whose last text has no end. If memory runs out later, libdw
 * cannot return an error and ends the process: after this function with exit status 4 (system error) instead of libdw's 1.
 */
Dwarf *elf_dwarf_open(Elf *elf);
/* Opens a file with only an ELF header: DWARF without a unit. The caller ends the file with elf_end. NULL: no memory. */
Elf *elf_open_empty(void);

#endif
