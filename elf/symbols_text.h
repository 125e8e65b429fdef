/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbols from files other than ELF: output of nm, perf maps, jitdumps. */
#ifndef ELF_SYMBOLS_TEXT_H
#define ELF_SYMBOLS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/symbol_list.h"

/* A symbol file: open, or (for tests) in memory. */
struct elf_symbol_source {
	int fd; /* -1: in memory; text files may be pipes */
	const uint8_t *data;
	size_t size;
};

#define ELF_SYMBOL_NAME_MAX 65535u /* limit for a name, in bytes (docs/format.md, section 10) */

/*
 * The readers add the symbols that the list wants (by its base, size and limit), with the file's own addresses. Memory
 * use depends on these symbols only, not on the file's size. name: the file's name, for messages. Symbols before an
 * error stay in the list.
 *
 * elf_symbols_nm reads lines of nm: ADDRESS [SIZE] TYPE NAME, with hexadecimal addresses and sizes. Undefined symbols
 * and data are skipped. PTL_CORRUPT with "NAME:LINE:COLUMN: expected ..., found ...", PTL_SYSTEM; PTL_NO_MEMORY, also
 * beyond the limit.
 */
int elf_symbols_nm(const char *name, const struct elf_symbol_source *source, struct elf_symbol_list *symbols);
/*
 * Reads lines of a perf map: ADDRESS SIZE NAME, with hexadecimal numbers; or a jitdump, recognised by its magic number.
 * Errors as elf_symbols_nm.
 */
int elf_symbols_perf_map(const char *name, const struct elf_symbol_source *source, struct elf_symbol_list *symbols);

/*
 * Drops symbols whose memory was reused by later symbols. The symbols from `first` on must be in the order of code
 * generation. Fails with PTL_NO_MEMORY.
 */
int elf_symbols_latest(struct elf_symbol_list *symbols, size_t first);

#endif
