/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens DWARF with libdw. */
#ifndef ELF_DWARF_OPEN_H
#define ELF_DWARF_OPEN_H

#include <elfutils/libdw.h>

/*
 * As dwarf_begin_elf, for reading. When memory is lacking later, libdw cannot return an error, and ends the process: here with the exit
 * status of a failure of the system (4), where libdw alone takes status 1.
 */
Dwarf *elf_dwarf_open(Elf *elf);

#endif
