/* SPDX-License-Identifier: BSD-2-Clause */
/* Sections of DWARF, and numbers in sections. */
#ifndef FLOW_SYMBOL_DWARF_SECTION_H
#define FLOW_SYMBOL_DWARF_SECTION_H

#include <libelf.h>

#include "common/bytes.h"

/*
 * Finds a section by its name, without the leading ".", and unpacks the section. The bytes are valid as long as elf.
 * The result is empty if the section is missing or damaged. Sections with old ".z" names are found, too, if libdw has
 * unpacked the sections: after dwarf_begin_elf.
 */
struct common_cursor flow_dwarf_section(Elf *elf, const char *name);
bool flow_dwarf_has_section(Elf *elf, const char *name);

/*
 * Read LEB128 numbers up to 64 bits, also with superfluous bytes. For a larger number, or beyond the end, the cursor
 * fails.
 */
uint64_t flow_dwarf_unsigned(struct common_cursor *bytes);
int64_t flow_dwarf_signed(struct common_cursor *bytes);

#endif
