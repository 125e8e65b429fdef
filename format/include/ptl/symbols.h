/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbol tables as blobs: function names of an ELF file (or another source) by the file's own virtual addresses. */
#ifndef PTL_SYMBOLS_H
#define PTL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/bytes.h>
#include <ptl/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ptl_symbol {
	uint64_t address; /* in the file's own address space (st_value), before relocation */
	uint64_t size;    /* in bytes; 0: up to the next symbol */
	const char *name; /* as in the file, mangled; empty for 'u' */
	/* 'T' global function, 't' local, 'W' weak, 'i' ifunc, 'P' PLT entry, 'u' function without a name */
	uint8_t type;
};

/* Encodes at most 2^32 - 1 symbols, in order of address; `symbols` may be in any order. PTL_NO_MEMORY. */
int ptl_symbols_encode(const struct ptl_symbol *symbols, size_t count, struct ptl_bytes *out);

struct ptl_symbol_table;

/*
 * Decodes a blob into a new table, which does not refer to `data`. PTL_CORRUPT, PTL_TRUNCATED, PTL_UNSUPPORTED,
 * PTL_NO_MEMORY.
 */
int ptl_symbols_decode(const uint8_t *data, size_t size, struct ptl_symbol_table **table);
void ptl_symbols_free(struct ptl_symbol_table *table);
size_t ptl_symbols_count(const struct ptl_symbol_table *table);
/* Returns symbol i, in order of address; i must be below the count. */
struct ptl_symbol ptl_symbols_get(const struct ptl_symbol_table *table, size_t i);
/*
 * Returns the symbol that covers `address`; name is NULL if not found. Of several symbols at an address, prefers global
 * symbols, then the name with the fewest leading underscores.
 */
struct ptl_symbol ptl_symbols_find(const struct ptl_symbol_table *table, uint64_t address);

#ifdef __cplusplus
}
#endif

#endif
