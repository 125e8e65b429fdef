/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts symbol files named in rules to symbol tables of traces. */
#ifndef RELOG_RULES_SYMBOLS_H
#define RELOG_RULES_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "elf/symbols_text.h"

#define RULES_SYMBOLS_MAX ((size_t)48 << 20) /* limit of an image's symbols in bytes, including names */

/*
 * Reads the symbol table of an ELF file. lowest: the list's base counts from the lowest loaded address of the file (0
 * in an object file). Returns PTL_NOT_OURS, PTL_CORRUPT; PTL_NO_MEMORY, also beyond the limit.
 */
int rules_symbols_elf(const char *name, const struct elf_symbol_source *source, bool lowest,
		      struct elf_symbol_list *symbols);

/* Encodes the symbols of the list, moved so that the list's base becomes new_base. Returns PTL_NO_MEMORY. */
int rules_symbols_encode(struct elf_symbol_list *symbols, uint64_t new_base, struct ptl_bytes *out);

#endif
