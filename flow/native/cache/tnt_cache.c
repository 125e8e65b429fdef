/* SPDX-License-Identifier: BSD-2-Clause */
/* The TNT cache: follows several TNT bits once, and keeps the run of all blocks. */
#include "flow/native/cache/tnt_cache.h"

#include <string.h>

#include "flow/native/cache/cache.h"
#include "flow/native/cache/code.h"

/* bytes of runs; above, the cache is cleared */
#define RUNS_LIMIT (16u << 20)
/* maximum number of blocks in a run; a longer run ends early */
#define RUN_BLOCKS 512
/* maximum number of calls that a run leaves on the return stack; much less than the stack's 64 */
#define RUN_PUSHES 32
/* maximum number of consecutive regions without a decision; more may be an endless loop of direct jumps */
#define RUN_REGIONS 16

struct sums {
	uint32_t instructions;
	uint32_t blocks;
	uint32_t branches;
	uint32_t pushes;
	uint64_t pages; /* pages of all regions: see native_page_bit */
};

/* The arrays are not cleared, because clearing would take longer than everything else. */
struct draft {
	struct sums sums;
	const struct flow_block *blocks[RUN_BLOCKS];
	struct native_return_site *pushes[RUN_PUSHES];
};

/* Adds the region to the run. Returns false if the run would be too long. */
static bool leave_region(struct draft *draft, const struct native_region *region)
{
	const struct flow_block_run *run = &region->run.run;
	struct sums *sums = &draft->sums;

	if (sums->blocks + run->count > RUN_BLOCKS || sums->pushes + region->run.push_count > RUN_PUSHES ||
	    sums->instructions + run->instructions > NATIVE_RUN_INSTRUCTIONS)
		return false;
	/* Mostly one block and rarely a call, so calling memcpy would take longer. */
	for (uint32_t i = 0; i < run->count; i++)
		draft->blocks[sums->blocks++] = run->blocks[i];
	for (uint32_t i = 0; i < region->run.push_count; i++)
		draft->pushes[sums->pushes++] = region->run.pushes[i];
	sums->branches += run->branches;
	sums->instructions += (uint32_t)run->instructions;
	sums->pages |= native_region_pages(region);
	return true;
}

/* Follows one bit from the region. Returns NULL if the run must end before the bit, or without memory (*failed). */
static struct native_region *step_draft(struct native_code *code, struct draft *draft, struct native_region *region,
					unsigned taken, bool *failed)
{
	struct native_region *next;

	switch (region->decision) {
	case NATIVE_CONDITIONAL:
		if (!leave_region(draft, region))
			return NULL;
		next = native_region_follow(code, region, taken);
		break;
	case NATIVE_RETURN:
		/* The calls of the region itself come before its return. */
		if (!taken || !(draft->sums.pushes + region->run.push_count) || !leave_region(draft, region))
			return NULL;
		next = native_return_site_follow(code, draft->pushes[--draft->sums.pushes], region->mode);
		break;
	default:
		return NULL;
	}
	*failed |= !next;
	return next;
}

/*
 * Leaves regions without a decision, if a region with a decision follows soon; otherwise leaves nothing. An endless
 * loop of such regions becomes a gap after a fixed number of regions, and the number must not depend on the cache.
 */
static struct native_region *settle_draft(struct native_code *code, struct draft *draft, struct native_region *region,
					  bool *failed)
{
	struct native_region *const first = region;
	const struct sums before = draft->sums;

	for (unsigned i = 0; i < RUN_REGIONS && region->decision == NATIVE_CONTINUE; i++) {
		struct native_region *next;

		if (!leave_region(draft, region))
			break;
		next = native_region_follow(code, region, 0);
		*failed |= !next;
		if (!next)
			break;
		region = next;
	}
	if (region->decision != NATIVE_CONTINUE)
		return region;
	draft->sums = before;
	return first;
}

static const struct native_run *keep_tnt_run(struct native_code *code, const struct draft *draft)
{
	size_t blocks = draft->sums.blocks * sizeof(draft->blocks[0]);
	size_t pushes = draft->sums.pushes * sizeof(draft->pushes[0]);
	struct native_run *run = native_arena_take(&code->tnt_cache.runs, sizeof(*run) + blocks + pushes);
	char *memory;

	if (!run)
		return NULL;
	memory = (char *)(run + 1);
	run->run = (struct flow_block_run){
		.blocks = memcpy(memory, draft->blocks, blocks),
		.instructions = draft->sums.instructions,
		.count = draft->sums.blocks,
		.branches = draft->sums.branches,
	};
	run->pushes = memcpy(memory + blocks, draft->pushes, pushes);
	run->push_count = draft->sums.pushes;
	run->pops = 0;
	run->returns = false;
	return run;
}

const struct native_tnt_entry *native_tnt_cache_add(struct native_code *code, struct native_region *region,
						    uint32_t key)
{
	struct native_tnt_entry *entry = native_tnt_cache_slot(&code->tnt_cache, region, key);
	struct draft draft;
	unsigned bits = 31 - (unsigned)__builtin_clz(key);
	const struct native_run *run;
	struct native_region *to;
	unsigned used = 0;
	bool failed = false;

	draft.sums = (struct sums){0};
	to = region;
	while (used < bits && !failed) {
		struct native_region *next;

		/* Settles before each bit, because the code after the last bit may be interrupted. */
		to = settle_draft(code, &draft, to, &failed);
		next = failed ? NULL : step_draft(code, &draft, to, key >> (bits - 1 - used) & 1, &failed);
		if (!next)
			break;
		used++;
		to = next;
	}
	entry->from = 0;
	run = failed ? NULL : keep_tnt_run(code, &draft);
	if (!run)
		return NULL;
	entry->from = native_to(region) | (used != bits);
	entry->to = native_to(to);
	entry->run = (uint64_t)(uintptr_t)run | (uint64_t)used << 56;
	entry->instructions = draft.sums.instructions;
	entry->blocks = (uint16_t)draft.sums.blocks;
	entry->branches = (uint16_t)draft.sums.branches;
	code->invalidation.incomplete |= !native_page_bits_set(
		&code->tnt_cache.made_of, (size_t)(entry - code->tnt_cache.entries), draft.sums.pages);
	return entry;
}

bool native_tnt_cache_full(const struct native_tnt_cache *cache)
{
	return cache->runs.total > RUNS_LIMIT;
}

void native_tnt_cache_clear(struct native_tnt_cache *cache)
{
	memset(cache->entries, 0, NATIVE_TNT_CACHE_ENTRIES * sizeof(*cache->entries));
	native_arena_free(&cache->runs);
	native_page_bits_clear(&cache->made_of);
}

/* ---- as one of the caches ---------------------------------------------------------------------------------- */

static void close_tnt_cache(struct native_code *code)
{
	native_arena_free(&code->tnt_cache.runs);
	native_page_bits_close(&code->tnt_cache.made_of);
}

static void clear_tnt_cache(struct native_code *code)
{
	native_arena_move(&code->tnt_cache.runs, &code->retired);
	native_tnt_cache_clear(&code->tnt_cache);
}

static void drop_tnt_entry(void *cache, size_t entry)
{
	((struct native_tnt_cache *)cache)->entries[entry].from = 0;
}

static void invalidate_tnt_cache(struct native_code *code, uint64_t pages)
{
	native_page_bits_drop(&code->tnt_cache.made_of, pages, drop_tnt_entry, &code->tnt_cache);
}

static size_t size(const struct native_code *code)
{
	return code->tnt_cache.runs.total;
}

const struct native_cache native_cache_tnt = {
	.close = close_tnt_cache,
	.clear = clear_tnt_cache,
	.invalidate = invalidate_tnt_cache,
	.size = size,
};
