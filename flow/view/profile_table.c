/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds blocks again, first by where the engine has them, then by what they are. */
#include "flow/view/profile_table.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/hash.h"
#include "common/vector.h"

void flow_profile_table_free(struct flow_profile_table *table)
{
	common_row_index_free(&table->places);
	common_hash_map_free(&table->edges);
	common_bytes_free(&table->bytes);
	free(table->entries);
	table->entries = NULL;
}

static struct flow_block_id id_of(const struct flow_block *block)
{
	return (struct flow_block_id){
		.ip = block->ip,
		.code = (block->code_event ? common_hash_bytes(block->code, block->size) : 0) ^ block->mode,
		.image = block->image,
		.size = block->size,
	};
}

static int add(struct flow_profile_table *table, const struct flow_block *block, const struct flow_block_id *id)
{
	struct flow_profile_entry *entry;
	struct common_rows rows;

	if (table->count == UINT32_MAX - 1 || !common_vector_room(&table->entries, table->count, sizeof(*entry)))
		return common_fail_memory("counts of blocks", table->count * sizeof(*entry));
	entry = &table->entries[table->count];
	*entry = (struct flow_profile_entry){
		.id = *id,
		.target = block->target,
		.bytes = table->bytes.size,
		.instructions = block->instructions,
		.branch = block->branch,
		.mode = block->mode,
		.code_event = block->code_event,
	};
	common_write_bytes(&table->bytes, block->code, block->size);
	common_write_bytes(&table->bytes, block->lengths, block->instructions);
	if (table->bytes.failed)
		return common_fail_memory("code of blocks", table->bytes.size);
	rows = flow_profile_rows(table);
	return common_row_index_add(&table->places, &rows, (uint32_t)table->count++);
}

/* The engine may have put another block where one was. */
static bool is_entry(const struct flow_profile_table *table, const struct flow_profile_entry *entry,
		     const struct flow_block *block)
{
	return entry->id.ip == block->ip && entry->id.image == block->image && entry->id.size == block->size &&
	       entry->code_event == block->code_event && entry->mode == block->mode &&
	       (!block->code_event || memcmp(table->bytes.data + entry->bytes, block->code, block->size) == 0);
}

int flow_profile_find(struct flow_profile_table *table, const struct flow_block *block, uint32_t *index)
{
	const size_t at = common_hash_mix((uintptr_t)block >> 4) >> 51 & (FLOW_PROFILE_CACHE - 1);
	const struct common_rows rows = flow_profile_rows(table);
	struct flow_block_id id;
	int status;

	if (table->cache[at].block == block && is_entry(table, &table->entries[table->cache[at].entry], block)) {
		*index = table->cache[at].entry;
		return 0;
	}
	id = id_of(block);
	*index = common_row_index_find(&table->places, &rows, &id);
	if (*index == COMMON_NO_ROW) {
		*index = (uint32_t)table->count;
		status = add(table, block, &id);
		if (status)
			return status;
	}
	table->cache[at].block = block;
	table->cache[at].entry = *index;
	return 0;
}

int flow_profile_edge(struct flow_profile_table *table, uint32_t from, uint32_t to, uint64_t count)
{
	const uint64_t key = (uint64_t)from << 32 | to;
	uint64_t *known = common_hash_map_get(&table->edges, key);

	if (!known)
		return common_hash_map_put(&table->edges, key, count);
	*known += count;
	return 0;
}
