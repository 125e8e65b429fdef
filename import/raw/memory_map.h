/* SPDX-License-Identifier: BSD-2-Clause */
/* The text that says which bytes of a raw memory file lie at which addresses. */
#ifndef IMPORT_RAW_MEMORY_MAP_H
#define IMPORT_RAW_MEMORY_MAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * One range a line, all numbers decimal or 0x...:
 *
 *     # base size offset-in-memory.raw
 *     0x400000 0xb6000 0x0
 *
 * A '#' starts a comment; empty lines are skipped. Ranges may come in any order and may share bytes
 * of the memory file, but not addresses.
 */
struct import_memory_range {
	uint64_t base;
	uint64_t size;   /* at least 1; base + size - 1 does not wrap */
	uint64_t offset; /* offset + size is within the memory file */
	unsigned line;   /* where the map says so, from 1 */
};

/* Ranges in order of base. Zero-initialised is empty. */
struct import_memory_map {
	struct import_memory_range *ranges;
	size_t count;
};

/*
 * Reads the text of a map. name is for messages, which begin "name:line:column: "; memory_size is
 * the size of the memory file that the ranges point into. PTL_CORRUPT for text that is no such map,
 * a range that leaves the address space or the memory file, ranges that overlap, and a map without
 * a range; PTL_NO_MEMORY. On failure the map is empty.
 */
int import_memory_map_parse(const char *name, const char *text, size_t text_size, uint64_t memory_size,
			    struct import_memory_map *map);
void import_memory_map_free(struct import_memory_map *map);

#endif
