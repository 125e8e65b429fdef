/* SPDX-License-Identifier: BSD-2-Clause */
/* Sections of DWARF, and the numbers in them. */
#ifndef FLOW_SYMBOL_DWARF_SECTION_H
#define FLOW_SYMBOL_DWARF_SECTION_H

#include <libelf.h>

#include "common/bytes.h"

/*
 * A section by its name, without the leading ".", unpacked: its bytes live as long as elf. Empty where there is none, or it is damaged.
 * The old ".z" names are found, too, but only where libdw has unpacked them: once dwarf_begin_elf has seen elf.
 */
struct common_cursor flow_dwarf_section(Elf *elf, const char *name);
bool flow_dwarf_has_section(Elf *elf, const char *name);

/* Numbers of any length up to 64 bits, also longer than they have to be; else, or beyond the end, the cursor has failed. */
uint64_t flow_dwarf_unsigned(struct common_cursor *bytes);
int64_t flow_dwarf_signed(struct common_cursor *bytes);

#endif
