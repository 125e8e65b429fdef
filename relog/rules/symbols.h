/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbol files that rules name, as symbol tables of traces. */
#ifndef RELOG_RULES_SYMBOLS_H
#define RELOG_RULES_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "elf/symbol_list.h"

#define RULES_SYMBOLS_MAX ((size_t)48 << 20) /* bytes of the symbols of one image, names included */

/* Where a symbol file is: open, or (for tests) in memory. */
struct rules_symbol_source {
	int fd; /* -1: in memory; text may come through a pipe */
	const uint8_t *data;
	size_t size;
};

/*
 * The readers add what of a file the list wants (its base, size and limit), by the file's own addresses, and need
 * memory for that only, however large the file is. name is the file's, for messages.
 *
 * Lines of nm: ADDRESS [SIZE] TYPE NAME, addresses and sizes hexadecimal. Undefined symbols, and data, are left out.
 * PTL_CORRUPT with "NAME:LINE:COLUMN: expected ..., found ...", PTL_SYSTEM; PTL_NO_MEMORY, also beyond the limit.
 */
int rules_symbols_nm(const char *name, const struct rules_symbol_source *source, struct elf_symbol_list *symbols);
/* Lines of a perf map: ADDRESS SIZE NAME, hexadecimal. As above. */
int rules_symbols_perf_map(const char *name, const struct rules_symbol_source *source, struct elf_symbol_list *symbols);
/*
 * The symbol table of an ELF file. Where `lowest` is set, the list's base counts from the lowest address that the file
 * loads (0 in an object file). PTL_NOT_OURS, PTL_CORRUPT; PTL_NO_MEMORY, also beyond the limit.
 */
int rules_symbols_elf(const char *name, const struct rules_symbol_source *source, bool lowest,
		      struct elf_symbol_list *symbols);

/* Encodes what the readers gathered, moved so that the list's base becomes new_base. PTL_NO_MEMORY. */
int rules_symbols_encode(struct elf_symbol_list *symbols, uint64_t new_base, struct ptl_bytes *out);

#endif
