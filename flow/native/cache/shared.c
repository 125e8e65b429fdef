/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes shared memory of a code, and looks in it. */
#include "flow/native/cache/shared.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "flow/native/cache/block.h"

/*
 * The region of a shared return site that had no region yet. Its mode is the mode of no code, so the site is looked up
 * again each time, and `shared` prevents a link.
 */
static struct native_region unlinked = {.shared = true};

void native_shared_leave(struct native_shared *shared)
{
	while (shared && !__atomic_sub_fetch(&shared->users, 1, __ATOMIC_ACQ_REL)) {
		struct native_shared *older = shared->older;

		native_code_close(&shared->code);
		if (shared->free_bytes)
			shared->free_bytes(shared->bytes);
		free(shared);
		shared = older;
	}
}

/* Prepares a block, which nobody may change any more. */
static bool freeze_block(struct native_code *code, struct native_block *block)
{
	if (block->return_site && !block->return_site->region)
		block->return_site->region = &unlinked;
	return !block->block.instructions || native_block_alone(code, &block->block);
}

static bool freeze(struct native_code *code)
{
	for (size_t i = 0; i < code->blocks.slot_count; i++)
		for (struct native_block *block = code->blocks.slots[i]; block; block = block->chain)
			if (!freeze_block(code, block))
				return false;
	for (size_t i = 0; i < code->regions.slot_count; i++)
		for (struct native_region *region = code->regions.slots[i]; region; region = region->chain)
			region->shared = true;
	return true;
}

/* Copies the caches that lead to runs and regions. */
static bool copy_caches(struct native_code *code, const struct native_code *from)
{
	memcpy(code->tnt_cache.entries, from->tnt_cache.entries,
	       NATIVE_TNT_CACHE_ENTRIES * sizeof(*code->tnt_cache.entries));
	memcpy(code->targets.entries, from->targets.entries, NATIVE_TARGETS * sizeof(*code->targets.entries));
	return native_packet_words_copy(&code->packet_words, &from->packet_words);
}

int native_shared_make(struct native_code *code, void *bytes, void (*free_bytes)(void *bytes))
{
	struct native_shared *shared = calloc(1, sizeof(*shared));
	struct native_code made;
	int status;

	if (!shared)
		return common_fail_memory("shared code", sizeof(*shared));
	status = native_code_open(&made, code->source);
	if (status < 0) {
		free(shared);
		return status;
	}
	if (!copy_caches(&made, code) || !freeze(code)) {
		native_code_close(&made);
		free(shared);
		return common_fail_memory("shared code", native_code_size(code));
	}
	made.generation = code->generation;
	made.counters.sink = code->counters.sink;
	*shared = (struct native_shared){
		.older = code->shared,
		.users = 1,
		.regions = code->regions.count + (code->shared ? code->shared->regions : 0),
		.code = *code,
		.bytes = bytes,
		.free_bytes = free_bytes,
	};
	shared->code.shared = NULL;
	*code = made;
	code->shared = shared;
	return 0;
}

int native_shared_join(struct native_code *code, const struct native_code *from)
{
	if (!from->shared)
		return 0;
	if (!copy_caches(code, &from->shared->code))
		return common_fail_memory("shared code", NATIVE_HUGE_PAGE);
	code->generation = from->generation;
	code->shared = from->shared;
	__atomic_add_fetch(&code->shared->users, 1, __ATOMIC_RELAXED);
	return 0;
}

struct native_region *native_shared_region(const struct native_shared *shared, uint64_t ip, unsigned mode)
{
	for (; shared; shared = shared->older) {
		const struct native_region_table *regions = &shared->code.regions;
		struct native_region *region = regions->slots[native_slot(ip, regions->slot_count)];

		while (region && (region->here.ip != ip || region->mode != mode || region->stub))
			region = region->chain;
		if (region)
			return region;
	}
	return NULL;
}

struct native_block *native_shared_block(const struct native_shared *shared, uint64_t ip, unsigned mode)
{
	for (; shared; shared = shared->older) {
		const struct native_block_table *blocks = &shared->code.blocks;
		struct native_block *block = blocks->slots[native_slot(ip, blocks->slot_count)];

		while (block && (!block->whole || block->block.ip != ip || block->block.mode != mode))
			block = block->chain;
		if (block)
			return block;
	}
	return NULL;
}
