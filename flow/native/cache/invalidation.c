/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists the blocks and regions made from tracked code by page, and invalidates blocks and regions when code changes. */
#include "flow/native/cache/invalidation.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/hash.h"
#include "flow/code/instruction.h"
#include "flow/native/cache/block.h"
#include "flow/native/cache/cache.h"
#include "flow/native/cache/code.h"

#define PAGES_SHIFT 12 /* log2 of the table's slots */
#define PAGES (1u << PAGES_SHIFT)

/* A block, or a region in its state after this number of invalidations. The memory is in the code's arena. */
struct native_dependent {
	struct native_dependent *next;
	struct native_block *block;
	struct native_region *region;
	uint32_t invalidations;
};

void native_invalidation_range(struct native_invalidation *invalidation, const struct flow_code_range *range)
{
	invalidation->range_tracked = !range->bytes || range->code_event ||
				      native_spans_meet(&invalidation->changed, range->first, range->last);
	if (!invalidation->range_tracked)
		native_spans_add(&invalidation->fixed, range->first, range->last);
}

/* ---- dependencies on pages ---------------------------------------------------------------------------------- */

/* Returns the last byte read while making the block. A block without a branch was also read behind its end. */
static uint64_t block_last(const struct native_block *block)
{
	uint64_t last = block->block.ip + block->block.size - 1;

	if (block->whole && !block->block.branch)
		last += FLOW_INSTRUCTION_MAX;
	return last >= block->block.ip ? last : UINT64_MAX;
}

static size_t page_slot(uint64_t page)
{
	return common_hash_high(page, PAGES_SHIFT);
}

/* Lists a dependent under all pages from the page of `first` to the page of `last`. Returns false without memory. */
static bool add_dependent(struct native_code *code, const struct native_dependent *made, uint64_t first, uint64_t last)
{
	struct native_invalidation *invalidation = &code->invalidation;

	if (!invalidation->by_page)
		invalidation->by_page = calloc(PAGES, sizeof(struct native_dependent *));
	if (!invalidation->by_page)
		return false;
	for (uint64_t page = first >> NATIVE_PAGE_SHIFT; page <= last >> NATIVE_PAGE_SHIFT; page++) {
		struct native_dependent **head = &invalidation->by_page[page_slot(page)];
		struct native_dependent *dependent;

		/* Consecutive blocks of a region are often in one page. */
		if (*head && (*head)->region && (*head)->region == made->region &&
		    (*head)->invalidations == made->invalidations)
			continue;
		dependent = native_arena_take(&code->arena, sizeof(*dependent));
		if (!dependent)
			return false;
		*dependent = *made;
		dependent->next = *head;
		*head = dependent;
	}
	return true;
}

void native_invalidation_add_block(struct native_code *code, struct native_block *block)
{
	code->invalidation.incomplete |= !add_dependent(code, &(struct native_dependent){.block = block},
							block->block.ip, block_last(block));
}

uint64_t native_invalidation_run_pages(const struct flow_block_run *run)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < run->count; i++) {
		const struct native_block *block = native_block_of(run->blocks[i]);

		if (block->tracked)
			bits |= native_page_bits_of(block->block.ip, block_last(block));
	}
	return bits;
}

static void add_region(struct native_code *code, struct native_region *region, uint64_t first, uint64_t last)
{
	region->tracked = true;
	region->pages |= native_page_bits_of(first, last);
	code->invalidation.incomplete |= !add_dependent(
		code, &(struct native_dependent){.region = region, .invalidations = region->invalidations}, first,
		last);
}

/* Returns the last byte read in search of more code at the region's end. */
static uint64_t stop_last(const struct native_region *region)
{
	uint64_t last = region->stop_ip + FLOW_INSTRUCTION_MAX - 1;

	return last >= region->stop_ip ? last : UINT64_MAX;
}

void native_invalidation_add_region(struct native_code *code, struct native_region *region)
{
	const struct flow_block_run *run = &region->run.run;

	for (uint32_t i = 0; i < run->count; i++) {
		const struct native_block *block = native_block_of(run->blocks[i]);

		if (block->tracked)
			add_region(code, region, block->block.ip, block_last(block));
	}
	if (region->decision > NATIVE_CONTINUE)
		add_region(code, region, region->stop_ip, stop_last(region));
}

/* ---- invalidating ------------------------------------------------------------------------------------------ */

static bool meet(uint64_t first, uint64_t last, const struct flow_code_span *changes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (changes[i].first <= last && changes[i].last >= first)
			return true;
	return false;
}

static bool region_meets(const struct native_region *region, const struct flow_code_span *changes, size_t count)
{
	const struct flow_block_run *run = &region->run.run;

	for (uint32_t i = 0; i < run->count; i++)
		if (meet(run->blocks[i]->ip, block_last(native_block_of(run->blocks[i])), changes, count))
			return true;
	return region->decision > NATIVE_CONTINUE && meet(region->stop_ip, stop_last(region), changes, count);
}

/*
 * Invalidates the dependent if its code has changed. Returns true if the dependent is invalid now, or was invalid
 * before.
 */
static bool invalidate_dependent(struct native_code *code, const struct native_dependent *made,
				 const struct flow_code_span *changes, size_t count, bool *stubs)
{
	struct native_block *block = made->block;
	struct native_region *region = made->region;

	if (block ? block->dead : region->invalidations != made->invalidations)
		return true;
	if (block ? !meet(block->block.ip, block_last(block), changes, count) : !region_meets(region, changes, count))
		return false;
	if (region) {
		native_counters_leave(&code->counters, region);
		native_region_invalidate(region);
		*stubs = true;
	} else {
		native_block_remove(code, block);
		block->dead = true;
	}
	return true;
}

/* Invalidates the dependents in a slot of the table. */
static bool invalidate_slot(struct native_code *code, size_t slot, const struct flow_code_span *changes, size_t count)
{
	struct native_dependent **at = &code->invalidation.by_page[slot];
	bool stubs = false;

	while (*at) {
		if (invalidate_dependent(code, *at, changes, count, &stubs))
			*at = (*at)->next;
		else
			at = &(*at)->next;
	}
	return stubs;
}

bool native_invalidation_change(struct native_code *code, const struct flow_code_span *changes, size_t count)
{
	bool stubs = false;

	for (size_t i = 0; code->invalidation.by_page && i < count; i++) {
		const uint64_t first = changes[i].first >> NATIVE_PAGE_SHIFT,
			       last = changes[i].last >> NATIVE_PAGE_SHIFT;

		if (last - first < PAGES)
			for (uint64_t page = first; page <= last; page++)
				stubs |= invalidate_slot(code, page_slot(page), changes, count);
		else
			for (size_t slot = 0; slot < PAGES; slot++)
				stubs |= invalidate_slot(code, slot, changes, count);
	}
	return stubs;
}

/* Checks whether fixed code has changed. Changed fixed code is tracked from now on. */
static bool fixed_changed(struct native_invalidation *invalidation, const struct flow_code_span *changes, size_t count)
{
	bool has_changed = false;

	for (size_t i = 0; i < count; i++) {
		if (!native_spans_meet(&invalidation->fixed, changes[i].first, changes[i].last))
			continue;
		native_spans_add(&invalidation->changed, changes[i].first, changes[i].last);
		has_changed = true;
	}
	return has_changed;
}

bool native_invalidation_needs_all(struct native_invalidation *invalidation, const struct flow_code_span *changes,
				   size_t count)
{
	return fixed_changed(invalidation, changes, count) || invalidation->incomplete;
}

static void clear_invalidation(struct native_code *code)
{
	struct native_invalidation *invalidation = &code->invalidation;

	native_spans_clear(&invalidation->fixed);
	if (invalidation->by_page)
		memset(invalidation->by_page, 0, PAGES * sizeof(struct native_dependent *));
	invalidation->incomplete = false;
}

static void close_invalidation(struct native_code *code)
{
	struct native_invalidation *invalidation = &code->invalidation;

	native_spans_free(&invalidation->fixed);
	native_spans_free(&invalidation->changed);
	free(invalidation->by_page);
	*invalidation = (struct native_invalidation){0};
}

const struct native_cache native_cache_invalidation = {.close = close_invalidation, .clear = clear_invalidation};
