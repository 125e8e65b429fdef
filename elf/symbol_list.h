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
	size_t replaced;                /* symbols that were left out, since later ones lay on their addresses */
	uint64_t cut;                   /* names of which the list has the beginning alone, or nothing */
	/* Set before the first symbol: */
	size_t limit;  /* of bytes; 0: none */
	uint64_t base; /* what does not lie in [base, base + size) is left out ... */
	uint64_t size; /* ... unless this is 0 */
};

/*
 * Bytes that names of one table may still take together. Names of a sound file stay below: they overlap only where a name ends as another
 * does, and symbols that share a name have a short name.
 */
struct elf_name_room {
	uint64_t
		whole; /* of names in full: twice the strings of the file, and ELF_NAME_CUT for each of the first symbols */
	uint64_t
		cut; /* of names that are cut to ELF_NAME_CUT: as much for each of the first symbols. Later names are left out. */
};

#define ELF_NAME_CUT 64u
#define ELF_NAMES_PER_STRINGS 2
#define ELF_NAME_MAX 65535u /* docs/format.md, section 10; the rest of a longer name is left out */

/* Whether a symbol with this address is wanted. */
bool elf_symbol_list_wants(const struct elf_symbol_list *symbols, uint64_t address);
/* Adds a symbol, whose name stays the caller's. PTL_NO_MEMORY, also beyond the limit. */
int elf_symbol_list_add(struct elf_symbol_list *symbols, const struct ptl_symbol *symbol);
/* A copy of a name, with `more` behind it, which lives as long as the list. NULL: PTL_NO_MEMORY, as above. */
const char *elf_symbol_list_name(struct elf_symbol_list *symbols, const char *name, size_t size, const char *more);
/* The room for the names of `count` symbols of a file without strings. The caller adds ELF_NAMES_PER_STRINGS for each byte of its strings. */
struct elf_name_room elf_name_room(uint64_t count);
/* The size that a name of this size gets in the list, which is taken from *room: 0 if there is no room. */
size_t elf_symbol_list_fit(struct elf_symbol_list *symbols, size_t size, struct elf_name_room *room);
void elf_symbol_list_free(struct elf_symbol_list *symbols);

#endif
