/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the reader of memory maps. Accepted maps must be sorted, disjoint and inside the memory file. */
#include <stdint.h>
#include <stdlib.h>

#include "import/raw/memory_map.h"

#define MEMORY_SIZE 0x100000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct import_memory_map *map)
{
	for (size_t i = 0; i < map->count; i++) {
		const struct import_memory_range *range = &map->ranges[i];

		if (!range->size || range->size - 1 > UINT64_MAX - range->base)
			abort();
		if (range->offset > MEMORY_SIZE || range->size > MEMORY_SIZE - range->offset)
			abort();
		if (i && range->base - map->ranges[i - 1].base < map->ranges[i - 1].size)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import_memory_map map;

	if (!import_memory_map_parse("map", (const char *)data, size, MEMORY_SIZE, &map))
		check(&map);
	import_memory_map_free(&map);
	return 0;
}
