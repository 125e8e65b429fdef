/* SPDX-License-Identifier: BSD-2-Clause */
/* Open addressing with linear probing, at most half full. */
#include "analysis/call/path_table.h"

#include <stdlib.h>

#include "common/error.h"

#define FIRST 1024u /* slots */

void analysis_path_table_free(struct analysis_path_table *table)
{
	free(table->slots);
	*table = (struct analysis_path_table){0};
}

static void put_path(struct analysis_path_table *table, struct analysis_path_nodes nodes, uint32_t number)
{
	const uint64_t hash = common_hash_number(analysis_path_key_word(analysis_path_key_of(nodes, number)));
	uint64_t at = hash;

	while (table->slots[at & table->mask])
		at++;
	table->slots[at & table->mask] = number | (uint32_t)(hash >> (32 + ANALYSIS_PATH_NUMBER_BITS))
							  << ANALYSIS_PATH_NUMBER_BITS;
	table->used++;
}

static int grow_path_table(struct analysis_path_table *table, struct analysis_path_nodes nodes)
{
	const size_t before = table->slots ? (size_t)table->mask + 1 : 0, count = before ? before * 2 : FIRST;
	struct analysis_path_table bigger = {.slots = calloc(count, sizeof(*bigger.slots)),
					     .mask = (uint32_t)(count - 1)};

	if (!bigger.slots)
		return common_fail_memory("paths of calls", count * sizeof(*bigger.slots));
	for (size_t i = 0; i < before; i++)
		if (table->slots[i])
			put_path(&bigger, nodes, table->slots[i] & ANALYSIS_PATH_NUMBER_MAX);
	free(table->slots);
	*table = bigger;
	return 0;
}

int analysis_path_table_put(struct analysis_path_table *table, struct analysis_path_nodes nodes, uint32_t number)
{
	const int status = !table->slots || table->used > table->mask / 2 ? grow_path_table(table, nodes) : 0;

	if (status == 0)
		put_path(table, nodes, number);
	return status;
}
