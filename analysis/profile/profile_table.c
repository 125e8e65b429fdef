/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the entry of a block: first by the engine's pointer, then by id. */
#include "analysis/profile/profile_table.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/hash.h"
#include "common/vector.h"

void analysis_profile_table_free(struct analysis_profile_table *table)
{
	common_hash_map_free(&table->places);
	common_hash_map_free(&table->edges);
	common_bytes_free(&table->bytes);
	free(table->entries);
	table->entries = NULL;
}

static struct analysis_block_id id_of(const struct flow_block *block)
{
	return (struct analysis_block_id){
		.ip = block->ip,
		.code = (block->code_event ? common_hash_bytes(block->code, block->size) : 0) ^ block->mode,
		.image = block->image,
		.size = block->size,
	};
}

static uint32_t find_slot(const struct analysis_profile_table *table, const struct analysis_block_id *id, uint64_t hash)
{
	const uint64_t *first = common_hash_map_get(&table->places, hash);
	uint32_t at = first ? (uint32_t)*first : FLOW_NONE;

	while (at != FLOW_NONE && memcmp(&table->entries[at].id, id, sizeof(*id)) != 0)
		at = table->entries[at].next;
	return at;
}

uint32_t analysis_profile_table_find(const struct analysis_profile_table *table, const struct analysis_block_id *id)
{
	return find_slot(table, id, common_hash_bytes(id, sizeof(*id)));
}

static int add_profile_block(struct analysis_profile_table *table, const struct flow_block *block,
			     const struct analysis_block_id *id, uint64_t hash)
{
	const uint64_t *same = common_hash_map_get(&table->places, hash);
	struct analysis_profile_entry *entry;

	if (table->count == FLOW_NONE - 1 || !common_vector_room(&table->entries, table->count, sizeof(*entry)))
		return common_fail_memory("counts of blocks", table->count * sizeof(*entry));
	entry = &table->entries[table->count];
	*entry = (struct analysis_profile_entry){
		.id = *id,
		.target = block->target,
		.bytes = table->bytes.size,
		.instructions = block->instructions,
		.next = same ? (uint32_t)*same : FLOW_NONE,
		.branch = block->branch,
		.mode = block->mode,
		.code_event = block->code_event,
	};
	common_write_bytes(&table->bytes, block->code, block->size);
	common_write_bytes(&table->bytes, block->lengths, block->instructions);
	if (table->bytes.failed)
		return common_fail_memory("code of blocks", table->bytes.size);
	return common_hash_map_put(&table->places, hash, table->count++);
}

/* Compares the entry with the block, because the engine may have put another block at the same address. */
static bool is_entry(const struct analysis_profile_table *table, const struct analysis_profile_entry *entry,
		     const struct flow_block *block)
{
	return entry->id.ip == block->ip && entry->id.image == block->image && entry->id.size == block->size &&
	       entry->code_event == block->code_event && entry->mode == block->mode &&
	       (!block->code_event || memcmp(table->bytes.data + entry->bytes, block->code, block->size) == 0);
}

int analysis_profile_find(struct analysis_profile_table *table, const struct flow_block *block, uint32_t *index)
{
	const size_t at = common_hash_mix((uintptr_t)block >> 4) >> 51 & (ANALYSIS_PROFILE_CACHE - 1);
	struct analysis_block_id id;
	uint64_t hash;
	int status;

	if (table->cache[at].block == block && is_entry(table, &table->entries[table->cache[at].entry], block)) {
		*index = table->cache[at].entry;
		return 0;
	}
	id = id_of(block);
	hash = common_hash_bytes(&id, sizeof(id));
	*index = find_slot(table, &id, hash);
	if (*index == FLOW_NONE) {
		*index = (uint32_t)table->count;
		status = add_profile_block(table, block, &id, hash);
		if (status)
			return status;
	}
	table->cache[at].block = block;
	table->cache[at].entry = *index;
	return 0;
}

int analysis_profile_edge(struct analysis_profile_table *table, uint32_t from, uint32_t to, uint64_t count)
{
	const uint64_t key = (uint64_t)from << 32 | to;
	uint64_t *known = common_hash_map_get(&table->edges, key);

	if (!known)
		return common_hash_map_put(&table->edges, key, count);
	*known += count;
	return 0;
}
