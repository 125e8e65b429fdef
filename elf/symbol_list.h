/* SPDX-License-Identifier: BSD-2-Clause */
/* List of symbols gathered from a file, with memory for their names. */
#ifndef ELF_SYMBOL_LIST_H
#define ELF_SYMBOL_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/symbols.h>

/* A zero-initialised list is empty, accepts all addresses and has no limit. */
struct elf_symbol_list {
	struct ptl_symbol *list;
	size_t count;
	size_t capacity;
	struct elf_symbol_names *names; /* blocks of names */
	size_t bytes;                   /* bytes of symbols and names */
	uint64_t cut;                   /* number of names shortened or dropped */
	/* Set before adding symbols: */
	size_t limit;  /* limit for `bytes`; 0: none */
	uint64_t base; /* symbols outside [base, base + size) are dropped ... */
	uint64_t size; /* ... unless size is 0 */
};

/*
 * Bytes left for the names of a symbol table. The names of a valid file fit: its names overlap only if a name is the
 * end of another name, and symbols that share a name have short names.
 */
struct elf_name_room {
	uint64_t
		/*
		 * for full names: twice the bytes of the file's strings, plus ELF_NAME_CUT for each of the first
		 * symbols
		 */
		whole;
	uint64_t
		/* for names cut to ELF_NAME_CUT: ELF_NAME_CUT for each of the first symbols; later names are dropped */
		cut;
};

#define ELF_NAME_CUT 64u
#define ELF_NAMES_PER_STRINGS 2
#define ELF_NAME_MAX 65535u /* limit for a name, in bytes (docs/format.md, section 10); longer names are cut */

/* Whether the list wants a symbol at this address. */
bool elf_symbol_list_wants(const struct elf_symbol_list *symbols, uint64_t address);
/* Adds a symbol. The name is not copied and must outlive the list. PTL_NO_MEMORY, also beyond the limit. */
int elf_symbol_list_add(struct elf_symbol_list *symbols, const struct ptl_symbol *symbol);
/*
 * Copies a name, with `more` appended, into memory that lives as long as the list. NULL: PTL_NO_MEMORY, also beyond the
 * limit.
 */
const char *elf_symbol_list_name(struct elf_symbol_list *symbols, const char *name, size_t size, const char *more);
/*
 * Returns the room for the names of `count` symbols, not counting strings. The caller adds ELF_NAMES_PER_STRINGS for
 * each byte of the file's strings.
 */
struct elf_name_room elf_name_room(uint64_t count);
/* Returns to how many bytes the list cuts a name of this size, and subtracts them from *room. 0: no room. */
size_t elf_symbol_list_fit(struct elf_symbol_list *symbols, size_t size, struct elf_name_room *room);
void elf_symbol_list_free(struct elf_symbol_list *symbols);

#endif
