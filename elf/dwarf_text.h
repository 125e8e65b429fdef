/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of DWARF that end within their section. */
#ifndef ELF_DWARF_TEXT_H
#define ELF_DWARF_TEXT_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/*
 * As dwarf_formstring. libdw does not check that a text within the entry itself (DW_FORM_string) has an end: a damaged file
 * makes such a text longer than the section. attribute: NULL gives NULL.
 */
const char *elf_dwarf_text(Dwarf_Attribute *attribute);
/* As dwarf_diename, with this check. */
const char *elf_dwarf_name(Dwarf_Die *die);

/* Checks that the last text of each section of texts has an end, which libdw 0.188 takes for granted. */
bool elf_dwarf_texts_end(Elf *elf);

#endif
