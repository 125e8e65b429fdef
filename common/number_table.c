/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory management of number tables. */
#include "common/number_table.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 256u /* slots of a new table */

void common_number_table_free(struct common_number_table *table)
{
	free(table->slots);
	*table = (struct common_number_table){0};
}

void common_number_table_clear(struct common_number_table *table)
{
	if (table->slots)
		memset(table->slots, 0, ((size_t)table->mask + 1) * sizeof(*table->slots));
}

bool common_number_table_grow(struct common_number_table *table, struct common_numbered array, uint32_t count)
{
	const size_t slots = table->slots ? ((size_t)table->mask + 1) * 2 : FIRST;

	if (count < table->room)
		return true;
	if (slots > (size_t)1 << 31)
		return false;
	free(table->slots);
	*table = (struct common_number_table){.slots = calloc(slots, sizeof(*table->slots))};
	if (!table->slots)
		return false;
	table->mask = (uint32_t)(slots - 1);
	table->room = (uint32_t)(slots / 2);
	for (uint32_t i = 1; i < count; i++) {
		uint32_t *slot = common_number_slot(table, array, common_number_element(array, i));

		if (slot)
			*slot = i;
	}
	return true;
}
