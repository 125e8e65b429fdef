/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbol tables as blobs: function names of one ELF file (or of anything) by its own virtual addresses. */
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
	uint64_t address; /* in the file's address space (st_value), before relocation */
	uint64_t size;    /* 0: up to the next symbol */
	const char *name; /* as in the file, not demangled; empty for 'u' */
	/* 'T' global function, 't' local, 'W' weak, 'i' ifunc, 'P' PLT entry, 'u' a function without a name */
	uint8_t type;
};

/* Encodes at most 2^32 - 1 symbols in order of address, whatever order they have. PTL_NO_MEMORY. */
int ptl_symbols_encode(const struct ptl_symbol *symbols, size_t count, struct ptl_bytes *out);

struct ptl_symbol_table;

/* Decodes a blob; copies what it needs. PTL_CORRUPT, PTL_TRUNCATED, PTL_UNSUPPORTED, PTL_NO_MEMORY. */
int ptl_symbols_decode(const uint8_t *data, size_t size, struct ptl_symbol_table **table);
void ptl_symbols_free(struct ptl_symbol_table *table);
size_t ptl_symbols_count(const struct ptl_symbol_table *table);
/* i below count, in order of address. */
struct ptl_symbol ptl_symbols_get(const struct ptl_symbol_table *table, size_t i);
/*
 * The symbol that covers address, or NULL name. The best name where several share an address: global
 * first, then that with the fewest underscores at its beginning.
 */
struct ptl_symbol ptl_symbols_find(const struct ptl_symbol_table *table, uint64_t address);

#ifdef __cplusplus
}
#endif

#endif
