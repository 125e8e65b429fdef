/* SPDX-License-Identifier: BSD-2-Clause */
/* Caches recently used places. */
#include "analysis/call/place_cache.h"

#include <stdlib.h>

#include "common/hash.h"

#define CACHE_BITS 14
#define CACHE_SIZE ((size_t)1 << CACHE_BITS)

struct analysis_place_cache *analysis_place_cache_new(const struct flow_timeline *timeline,
						      struct analysis_function_table *table, uint64_t start_time)
{
	struct analysis_place_cache *cache = calloc(1, sizeof(*cache));

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

void analysis_place_cache_free(struct analysis_place_cache *cache)
{
	if (!cache)
		return;
	analysis_transfer_runs_free(&cache->runs);
	analysis_summary_tree_free(&cache->tree);
	analysis_totals_free(&cache->totals);
	free(cache->slots);
	free(cache);
}

struct analysis_cached_place *analysis_place_cache_find(struct analysis_place_cache *cache, uint32_t process,
							uint32_t image, uint64_t address, int *status)
{
	struct analysis_cached_place *slot =
		&cache->slots[common_hash_high(address ^ (uint64_t)image << 40, CACHE_BITS)];

	if (slot->valid && slot->address == address && slot->place.image == image && slot->process == process)
		return slot;
	slot->valid = false;
	*status = analysis_functions_place(cache->table, image, address, &slot->place);
	if (*status < 0)
		return NULL;
	slot->address = address;
	slot->process = process;
	slot->entry = slot->place.function;
	slot->valid = true;
	return slot;
}
