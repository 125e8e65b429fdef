/* SPDX-License-Identifier: BSD-2-Clause */
/* Caches recently used places. */
#include "dump/call/place_cache.h"

#include <stdlib.h>

#include "common/hash.h"

#define CACHE_BITS 14
#define CACHE_SIZE ((size_t)1 << CACHE_BITS)

struct dump_place_cache *dump_place_cache_new(const struct flow_timeline *timeline, struct dump_function_table *table,
					      uint64_t start_time)
{
	struct dump_place_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	cache->timeline = timeline;
	cache->table = table;
	cache->start_time = start_time;
	cache->slots = calloc(CACHE_SIZE, sizeof(*cache->slots));
	if (cache->slots)
		return cache;
	free(cache);
	return NULL;
}

void dump_place_cache_free(struct dump_place_cache *cache)
{
	if (!cache)
		return;
	dump_transfer_runs_free(&cache->runs);
	dump_summary_tree_free(&cache->tree);
	dump_totals_free(&cache->totals);
	dump_scripts_free(&cache->scripts);
	free(cache->slots);
	free(cache);
}

struct dump_cached_place *dump_place_cache_find(struct dump_place_cache *cache, uint32_t process, uint32_t image,
						uint64_t address, int *status)
{
	struct dump_cached_place *slot = &cache->slots[common_hash_high(address ^ (uint64_t)image << 40, CACHE_BITS)];

	if (slot->valid && slot->address == address && slot->place.image == image && slot->process == process)
		return slot;
	slot->valid = false;
	*status = dump_functions_place(cache->table, image, address, &slot->place);
	if (*status < 0)
		return NULL;
	slot->address = address;
	slot->process = process;
	slot->entry = slot->place.function;
	slot->valid = true;
	return slot;
}
