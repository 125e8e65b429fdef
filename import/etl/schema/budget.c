/* SPDX-License-Identifier: BSD-2-Clause */
#include "import/etl/schema/budget.h"

#include <string.h>

#define ITEMS_MAX 400000u /* maximum metadata items; less than half of a trace's limit */
#define ITEM_BYTES_MAX (6u << 20)

bool etl_budget_spend(struct etl_budget *budget, size_t items, size_t bytes)
{
	if (items > ITEMS_MAX - budget->items || bytes > ITEM_BYTES_MAX - budget->bytes)
		return false;
	budget->items += items;
	budget->bytes += bytes;
	return true;
}

int etl_map_write(struct etl_budget *budget, struct ptl_writer *writer, const struct ptl_map *map)
{
	size_t bytes = 64 + strlen(map->name);

	for (size_t i = 0; i < map->count; i++)
		bytes += 24 + strlen(map->entries[i].name);
	return etl_budget_spend(budget, 1 + map->count, bytes) ? ptl_writer_map(writer, map) : 0;
}
