/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbol files that rules name, as symbol tables of traces. */
#ifndef PTL_RELOG_RULES_SYMBOLS_H
#define PTL_RELOG_RULES_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/symbols.h>

#include "common/bytes.h"

/* Symbols as a file has them, by its own addresses. Zero-initialised is empty. */
struct rules_symbol_list {
	struct ptl_symbol *list;
	size_t count;
	char *names; /* all of them, zero-terminated, or NULL where they are in `table` */
	struct ptl_symbol_table *table;
};

/*
 * Lines of nm: ADDRESS [SIZE] TYPE NAME, addresses and sizes hexadecimal. Undefined symbols, and data, are left out.
 * name is the file's, for messages. PTL_CORRUPT with "NAME:LINE:COLUMN: expected ..., found ...", PTL_NO_MEMORY.
 */
int rules_symbols_nm(const char *name, const uint8_t *data, size_t size, struct rules_symbol_list *symbols);
/* Lines of a perf map: ADDRESS SIZE NAME, hexadecimal. As above. */
int rules_symbols_perf_map(const char *name, const uint8_t *data, size_t size,
			   struct rules_symbol_list *symbols);
/*
 * The symbol table of an ELF file; *first is its lowest loaded address, 0 for an object file. PTL_NOT_OURS,
 * PTL_CORRUPT, PTL_NO_MEMORY.
 */
int rules_symbols_elf(const char *name, const uint8_t *data, size_t size,
		      struct rules_symbol_list *symbols, uint64_t *first);
void rules_symbols_free(struct rules_symbol_list *symbols);

/*
 * Encodes those that lie in [base, base + size), moved so that base becomes new_base. *count: how many. PTL_NO_MEMORY.
 */
int rules_symbols_encode(const struct rules_symbol_list *symbols, uint64_t base, uint64_t size,
			 uint64_t new_base, struct ptl_bytes *out, size_t *count);

#endif
