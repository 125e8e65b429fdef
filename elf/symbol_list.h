/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbols as they are gathered from a file, with memory for their names. */
#ifndef ELF_SYMBOL_LIST_H
#define ELF_SYMBOL_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/symbols.h>

/* Zero-initialised is empty, and takes symbols of all addresses and as many as there is memory for. */
struct elf_symbol_list {
	struct ptl_symbol *list;
	size_t count;
	size_t capacity;
	struct elf_symbol_names *names; /* blocks of them */
	size_t bytes;                   /* of both */
	/* Set before the first symbol: */
	size_t limit;  /* of bytes; 0: none */
	uint64_t base; /* what does not lie in [base, base + size) is left out ... */
	uint64_t size; /* ... unless this is 0 */
};

/* Whether a symbol with this address is wanted. */
bool elf_symbol_list_wants(const struct elf_symbol_list *symbols, uint64_t address);
/* Adds a symbol, whose name stays the caller's. PTL_NO_MEMORY, also beyond the limit. */
int elf_symbol_list_add(struct elf_symbol_list *symbols, const struct ptl_symbol *symbol);
/* A copy of a name, with `more` behind it, which lives as long as the list. NULL: PTL_NO_MEMORY, as above. */
const char *elf_symbol_list_name(struct elf_symbol_list *symbols, const char *name, size_t size, const char *more);
void elf_symbol_list_free(struct elf_symbol_list *symbols);

#endif
