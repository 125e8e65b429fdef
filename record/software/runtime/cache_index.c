/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds blocks and pages by address. */
#include <stdlib.h>

#include "common/hash.h"
#include "record/software/runtime/cache_state.h"

static size_t slot_of(uint64_t key, size_t count)
{
	return (size_t)(common_hash_mix(key) >> 20) & (count - 1);
}

struct cache_block *runtime_cache_block(uint64_t pc)
{
	if (!runtime_cache.slot_count)
		return NULL;
	for (size_t i = slot_of(pc, runtime_cache.slot_count);; i = (i + 1) & (runtime_cache.slot_count - 1)) {
		if (!runtime_cache.slots[i])
			return NULL;
		if (runtime_cache.slots[i]->pc == pc && !runtime_cache.slots[i]->forgotten)
			return runtime_cache.slots[i];
	}
}

static bool grow_blocks(void)
{
	const size_t count = runtime_cache.slot_count ? runtime_cache.slot_count * 2 : 4096;
	struct cache_block **slots = calloc(count, sizeof(*slots));

	if (!slots)
		return false;
	runtime_cache.block_count = 0;
	for (size_t i = 0; i < runtime_cache.slot_count; i++) {
		struct cache_block *block = runtime_cache.slots[i];

		if (!block || block->forgotten)
			continue;
		for (size_t at = slot_of(block->pc, count);; at = (at + 1) & (count - 1))
			if (!slots[at]) {
				slots[at] = block;
				runtime_cache.block_count++;
				break;
			}
	}
	free(runtime_cache.slots);
	runtime_cache.slots = slots;
	runtime_cache.slot_count = count;
	return true;
}

bool runtime_cache_add_block(struct cache_block *block)
{
	size_t at;

	if (runtime_cache.block_count * 2 >= runtime_cache.slot_count && !grow_blocks())
		return false;
	/* Reuses the slot of a forgotten block, so that frequently changing code does not lengthen the chains. */
	for (at = slot_of(block->pc, runtime_cache.slot_count);
	     runtime_cache.slots[at] && !runtime_cache.slots[at]->forgotten;
	     at = (at + 1) & (runtime_cache.slot_count - 1))
		;
	runtime_cache.block_count += !runtime_cache.slots[at];
	runtime_cache.slots[at] = block;
	return true;
}

struct cache_page *runtime_cache_page(uint64_t address)
{
	if (!runtime_cache.page_slots)
		return NULL;
	for (size_t i = slot_of(address, runtime_cache.page_slots);; i = (i + 1) & (runtime_cache.page_slots - 1)) {
		if (!runtime_cache.pages[i] || runtime_cache.pages[i]->address == address)
			return runtime_cache.pages[i];
	}
}

struct cache_page *runtime_cache_make_page(uint64_t address)
{
	struct cache_page *page = runtime_cache_page(address);

	if (page)
		return page;
	if (runtime_cache.page_count * 2 >= runtime_cache.page_slots) {
		const size_t count = runtime_cache.page_slots ? runtime_cache.page_slots * 2 : 1024;
		struct cache_page **pages = calloc(count, sizeof(*pages));

		if (!pages)
			return NULL;
		for (size_t i = 0; i < runtime_cache.page_slots; i++) {
			size_t at;

			if (!runtime_cache.pages[i])
				continue;
			for (at = slot_of(runtime_cache.pages[i]->address, count); pages[at];
			     at = (at + 1) & (count - 1))
				;
			pages[at] = runtime_cache.pages[i];
		}
		free(runtime_cache.pages);
		runtime_cache.pages = pages;
		runtime_cache.page_slots = count;
	}
	page = calloc(1, sizeof(*page));
	if (!page)
		return NULL;
	page->address = address;
	{
		size_t at = slot_of(address, runtime_cache.page_slots);

		while (runtime_cache.pages[at])
			at = (at + 1) & (runtime_cache.page_slots - 1);
		runtime_cache.pages[at] = page;
		runtime_cache.page_count++;
	}
	return page;
}
