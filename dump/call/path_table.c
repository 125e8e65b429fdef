/* SPDX-License-Identifier: BSD-2-Clause */
/* Open addressing with linear probing, at most half full. */
#include "dump/call/path_table.h"

#include <stdlib.h>

#include "common/error.h"

#define FIRST 1024u /* slots */

void dump_path_table_free(struct dump_path_table *table)
{
	free(table->slots);
	*table = (struct dump_path_table){0};
}

static void put_path(struct dump_path_table *table, struct dump_path_nodes nodes, uint32_t number)
{
	const uint64_t hash = common_hash_number(dump_path_key_word(dump_path_key_of(nodes, number)));
	uint64_t at = hash;

	while (table->slots[at & table->mask])
		at++;
	table->slots[at & table->mask] = number | (uint32_t)(hash >> (32 + DUMP_PATH_NUMBER_BITS))
							  << DUMP_PATH_NUMBER_BITS;
	table->used++;
}

static int grow_path_table(struct dump_path_table *table, struct dump_path_nodes nodes)
{
	const size_t before = table->slots ? (size_t)table->mask + 1 : 0, count = before ? before * 2 : FIRST;
	struct dump_path_table bigger = {.slots = calloc(count, sizeof(*bigger.slots)), .mask = (uint32_t)(count - 1)};

	if (!bigger.slots)
		return common_fail_memory("paths of calls", count * sizeof(*bigger.slots));
	for (size_t i = 0; i < before; i++)
		if (table->slots[i])
			put_path(&bigger, nodes, table->slots[i] & DUMP_PATH_NUMBER_MAX);
	free(table->slots);
	*table = bigger;
	return 0;
}

int dump_path_table_put(struct dump_path_table *table, struct dump_path_nodes nodes, uint32_t number)
{
	const int status = !table->slots || table->used > table->mask / 2 ? grow_path_table(table, nodes) : 0;

	if (status == 0)
		put_path(table, nodes, number);
	return status;
}
