/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes regions of blocks, once for each address, and keeps blocks and regions in tables by address. */
#include "flow/native/cache/region.h"

#include <stdlib.h>
#include <string.h>

#include "flow/native/cache/block.h"
#include "flow/native/cache/cache.h"
#include "flow/native/cache/code.h"
#include "flow/native/cache/shared.h"

#define REGIONS_AT_ONCE 32

static int grow_regions(struct native_code *code)
{
	size_t slots = code->regions.slot_count * 2;
	struct native_region **regions = native_pages_take(slots * sizeof(*regions));

	if (!regions)
		return -1;
	for (size_t i = 0; i < code->regions.slot_count; i++) {
		struct native_region *region = code->regions.slots[i];

		while (region) {
			struct native_region *next = region->chain;
			struct native_region **head = &regions[native_slot(region->here.ip, slots)];

			region->chain = *head;
			*head = region;
			region = next;
		}
	}
	native_code_free_table(code, code->regions.slots, code->regions.slot_count);
	code->regions.slots = regions;
	code->regions.slot_count = slots;
	return 0;
}

/* A region being made. The arrays are not cleared. */
struct draft {
	struct flow_block_run run;
	uint32_t push_count;
	bool tracked;
	struct native_region region;
	const struct flow_block *blocks[NATIVE_REGION_BLOCKS];
	struct native_return_site *pushes[NATIVE_REGION_BLOCKS];
};

static const uint8_t decisions[] = {
	[FLOW_BRANCH_CONDITIONAL] = NATIVE_CONDITIONAL,
	[FLOW_BRANCH_JUMP_INDIRECT] = NATIVE_INDIRECT,
	[FLOW_BRANCH_CALL_INDIRECT] = NATIVE_INDIRECT,
	[FLOW_BRANCH_RETURN] = NATIVE_RETURN,
	[FLOW_BRANCH_FAR_CALL] = NATIVE_FAR,
	[FLOW_BRANCH_FAR_RETURN] = NATIVE_FAR,
	[FLOW_BRANCH_FAR_JUMP] = NATIVE_FAR,
};

/* Adds the block. *at: start of the next block. Returns true at the end of the region. */
static bool region_add_block(struct draft *draft, const struct flow_block *block, uint64_t *at)
{
	struct native_region *region = &draft->region;
	struct native_return_site *return_site = native_block_of(block)->return_site;

	draft->blocks[draft->run.count++] = block;
	draft->run.instructions += block->instructions;
	draft->run.branches += block->branch != FLOW_BRANCH_NONE;
	region->notable |= native_block_of(block)->notable;
	draft->tracked |= native_block_of(block)->tracked;
	if (return_site)
		draft->pushes[draft->push_count++] = return_site;
	if (block->branch == FLOW_BRANCH_JUMP || block->branch == FLOW_BRANCH_CALL) {
		*at = block->target;
		if (draft->run.count < NATIVE_REGION_BLOCKS && draft->run.instructions < NATIVE_REGION_INSTRUCTIONS)
			return false;
		region->decision = NATIVE_CONTINUE;
		return true;
	}
	region->decision = decisions[block->branch];
	return true;
}

static int draft_region(struct native_code *code, struct draft *draft, uint64_t ip, unsigned mode)
{
	uint64_t at = ip;
	bool ended = false;

	draft->run = (struct flow_block_run){0};
	draft->push_count = 0;
	draft->tracked = false;
	draft->region = (struct native_region){.here = {.ip = ip}, .mode = (uint8_t)mode};
	while (!ended) {
		struct native_block *block = native_block_get(code, at, mode);

		if (!block)
			return -1;
		if (block->block.instructions && block->block.branch) {
			ended = region_add_block(draft, &block->block, &at);
			continue;
		}
		if (block->block.instructions) {
			draft->blocks[draft->run.count++] = &block->block;
			draft->run.instructions += block->block.instructions;
			draft->region.notable |= block->notable;
		}
		draft->tracked |= block->tracked;
		draft->region.decision = block->stop;
		draft->region.stop_ip = block->block.ip + block->block.size;
		ended = true;
	}
	return 0;
}

/* Copies the draft's run into the arena. A single block already has a run. Returns false without memory. */
static bool keep_run(struct native_code *code, struct draft *draft)
{
	const size_t blocks = draft->run.count * sizeof(draft->blocks[0]);
	const size_t pushes = draft->push_count * sizeof(draft->pushes[0]);
	struct native_run *run = &draft->region.run;
	char *memory;

	run->run = draft->run;
	run->push_count = draft->push_count;
	run->returns = draft->region.decision == NATIVE_RETURN;
	if (draft->run.count == 1) {
		run->run.blocks = &native_block_of(draft->blocks[0])->self;
		run->pushes = &native_block_of(draft->blocks[0])->return_site;
		return true;
	}
	memory = native_arena_take(&code->arena, blocks + pushes);
	if (!memory)
		return false;
	run->run.blocks = memcpy(memory, draft->blocks, blocks);
	run->pushes = memcpy(memory + blocks, draft->pushes, pushes);
	return true;
}

/* Allocates a region at the start of a cache line. */
static struct native_region *take_region(struct native_code *code)
{
	if (!code->regions.spare_count) {
		char *memory = native_arena_take(&code->arena,
						 REGIONS_AT_ONCE * sizeof(struct native_region) + NATIVE_LINE);

		if (!memory)
			return NULL;
		code->regions.spare = (struct native_region *)(memory + (-(uintptr_t)memory & (NATIVE_LINE - 1)));
		code->regions.spare_count = REGIONS_AT_ONCE;
	}
	code->regions.spare_count--;
	return code->regions.spare++;
}

static struct native_region *make_region(struct native_code *code, uint64_t ip, unsigned mode)
{
	struct draft draft;
	struct native_region *region;

	if (draft_region(code, &draft, ip, mode) < 0)
		return NULL;
	region = take_region(code);
	if (!region || !keep_run(code, &draft))
		return NULL;
	*region = draft.region;
	region->here.region = region;
	if (draft.tracked)
		native_invalidation_add_region(code, region);
	return region;
}

/* Makes a region from a stub again. Returns NULL without memory. */
static struct native_region *remake_region(struct native_code *code, struct native_region *region)
{
	struct draft draft;

	if (draft_region(code, &draft, region->here.ip, region->mode) < 0 || !keep_run(code, &draft))
		return NULL;
	draft.region.chain = region->chain;
	draft.region.here = region->here;
	draft.region.invalidations = region->invalidations;
	*region = draft.region;
	if (draft.tracked)
		native_invalidation_add_region(code, region);
	return region;
}

void native_region_invalidate(struct native_region *region)
{
	*region = (struct native_region){
		.run = {.run = {.blocks = region->run.run.blocks}, .pushes = region->run.pushes},
		.decision = NATIVE_CONTINUE,
		.mode = region->mode,
		.stub = true,
		.chain = region->chain,
		.here = region->here,
		.invalidations = region->invalidations + 1,
	};
}

/* Prefetches the memory for a new region in parallel with the table's slot. */
static inline void expect_region(const struct native_code *code, uint64_t ip)
{
	const struct flow_code_range *range = &code->range;

	__builtin_prefetch(&code->blocks.slots[native_slot(ip, code->blocks.slot_count)]);
	if (ip - range->first <= range->last - range->first)
		__builtin_prefetch((const void *)((uintptr_t)range->bytes + (ip - range->first)));
}

struct native_region *native_region_get(struct native_code *code, uint64_t ip, unsigned mode)
{
	struct native_region *region = code->regions.slots[native_slot(ip, code->regions.slot_count)];
	struct native_region **head;

	expect_region(code, ip);
	while (region && (region->here.ip != ip || region->mode != mode))
		region = region->chain;
	if (region)
		return region->stub ? remake_region(code, region) : region;
	if (__builtin_expect(code->shared != NULL, 0)) {
		region = native_shared_region(code->shared, ip, mode);
		if (region)
			return region;
	}
	if (code->regions.count >= code->regions.slot_count && grow_regions(code) < 0)
		return NULL;
	region = make_region(code, ip, mode);
	if (!region)
		return NULL;
	head = &code->regions.slots[native_slot(ip, code->regions.slot_count)];
	region->chain = *head;
	*head = region;
	code->regions.count++;
	return region;
}

/* Returns the address to which a CONDITIONAL or CONTINUE leads. */
static uint64_t next_ip(const struct native_region *region, unsigned taken)
{
	const struct flow_block_run *run = &region->run.run;
	const struct flow_block *last;

	if (region->stub)
		return region->here.ip;
	last = run->blocks[run->count - 1];
	return taken || (region->decision == NATIVE_CONTINUE && last->branch) ? last->target : last->ip + last->size;
}

struct native_region *native_region_link(struct native_code *code, struct native_region *region, unsigned taken)
{
	bool stub = region->stub;
	struct native_region *next = native_region_get(code, next_ip(region, taken), region->mode);

	if (!stub && !region->shared)
		region->next[taken] = next;
	return next;
}

struct native_region *native_return_site_link(struct native_code *code, struct native_return_site *site, unsigned mode)
{
	struct native_region *region = native_region_get(code, site->ip, mode);

	/* The region of a shared site is shared, too. */
	if (!site->region || !site->region->shared)
		site->region = region;
	return region;
}

/* ---- as one of the caches ---------------------------------------------------------------------------------- */

static void close_regions(struct native_code *code)
{
	native_code_free_table(code, code->regions.slots, code->regions.slot_count);
}

static void clear_regions(struct native_code *code)
{
	struct native_region_table *regions = &code->regions;

	memset(regions->slots, 0, regions->slot_count * sizeof(*regions->slots));
	regions->count = regions->spare_count = 0;
}

/* invalidation.h invalidates single regions and blocks. */
const struct native_cache native_cache_regions = {.close = close_regions, .clear = clear_regions};
