/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory map: text that assigns addresses to the bytes of a raw memory file. */
#ifndef IMPORT_RAW_MEMORY_MAP_H
#define IMPORT_RAW_MEMORY_MAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * A range. The map has one range per line. Numbers are decimal or 0x...:
 *
 *     # base size offset-in-memory.raw
 *     0x400000 0xb6000 0x0
 *
 * A '#' starts a comment; empty lines are skipped. Ranges may come in any order. Ranges may share bytes of the memory
 * file, but not addresses.
 */
struct import_memory_range {
	uint64_t base;
	uint64_t size;   /* at least 1; base + size - 1 does not wrap */
	uint64_t offset; /* offset + size is at most the size of the memory file */
	unsigned line;   /* line in the map, from 1 */
};

/* Ranges sorted by base. Zero-initialised is empty. */
struct import_memory_map {
	struct import_memory_range *ranges;
	size_t count;
};

/*
 * Parses the text of a map. On failure the map is empty.
 * name: for messages, which begin with "name:line:column: ".
 * memory_size: size of the memory file.
 * Returns PTL_CORRUPT for a syntax error, a range outside the address space or the memory file, overlapping ranges, and
 * a map without a range; PTL_NO_MEMORY.
 */
int import_memory_map_parse(const char *name, const char *text, size_t text_size, uint64_t memory_size,
			    struct import_memory_map *map);
void import_memory_map_free(struct import_memory_map *map);

#endif
