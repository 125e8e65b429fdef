/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbols of files that are not ELF: lines of nm, perf maps, jitdump. */
#ifndef ELF_SYMBOLS_TEXT_H
#define ELF_SYMBOLS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/symbol_list.h"

/* Where a symbol file is: open, or (for tests) in memory. */
struct elf_symbol_source {
	int fd; /* -1: in memory; text may come through a pipe */
	const uint8_t *data;
	size_t size;
};

#define ELF_SYMBOL_NAME_MAX 65535u /* bytes of a name, as docs/format.md, section 10, has it */

/*
 * The readers add what of a file the list wants (its base, size and limit), by the file's own addresses, and need
 * memory for that only, however large the file is. name is the file's, for messages. What comes before a mistake in the file stays
 * in the list.
 *
 * Lines of nm: ADDRESS [SIZE] TYPE NAME, addresses and sizes hexadecimal. Undefined symbols, and data, are left out.
 * PTL_CORRUPT with "NAME:LINE:COLUMN: expected ..., found ...", PTL_SYSTEM; PTL_NO_MEMORY, also beyond the limit.
 */
int elf_symbols_nm(const char *name, const struct elf_symbol_source *source, struct elf_symbol_list *symbols);
/* Lines of a perf map: ADDRESS SIZE NAME, hexadecimal; or a jitdump, which its first bytes show. As above. */
int elf_symbols_perf_map(const char *name, const struct elf_symbol_source *source, struct elf_symbol_list *symbols);

/*
 * Of symbols that are in the order in which code was made, from `first` on: leaves out those whose memory was used again
 * for later ones. *kept (may be NULL; the caller frees it) says of each whether it stays. PTL_NO_MEMORY.
 */
int elf_symbols_latest(struct elf_symbol_list *symbols, size_t first, bool **kept);

#endif
