/* SPDX-License-Identifier: BSD-2-Clause */
/* Remembers what is made of tracked code, by page, and forgets it where that changes. */
#include "flow/native/invalidation.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "flow/code/instruction.h"
#include "flow/native/block.h"
#include "flow/native/tnt16.h"
#include "flow/native/packet_word.h"

#define PAGES_SHIFT 12 /* log2 of the table's places */
#define PAGES (1u << PAGES_SHIFT)

/* A block, or a region as it was made when it had been forgotten so often. In the code's arena, as these are. */
struct native_dependent {
	struct native_dependent *next;
	struct native_block *block;
	struct native_region *region;
	uint32_t forgotten;
};

void native_invalidation_range(struct native_invalidation *invalidation, const struct flow_code_range *range)
{
	invalidation->range = !range->bytes || range->code_event ||
			      native_spans_meet(&invalidation->changed, range->first, range->last);
	if (!invalidation->range)
		native_spans_add(&invalidation->fixed, range->first, range->last);
}

void native_invalidation_open_table(struct native_invalidation *invalidation, uint64_t **table, size_t size)
{
	*table = calloc(size + size / NATIVE_INVALIDATION_GROUP, sizeof(**table));
	invalidation->lost |= !*table;
}

/* ---- what depends on which page ---------------------------------------------------------------------------- */

/* The last byte that making the block looked at. Where it stopped, an instruction did not become one by those behind. */
static uint64_t block_last(const struct native_block *block)
{
	uint64_t last = block->block.ip + block->block.size - 1;

	if (block->whole && !block->block.branch)
		last += FLOW_INSTRUCTION_MAX;
	return last >= block->block.ip ? last : UINT64_MAX;
}

static size_t page_place(uint64_t page)
{
	return page * 0x9e3779b97f4a7c15ull >> (64 - PAGES_SHIFT);
}

/* Lets what depends be found by all pages from that of `first` to that of `last`; false without memory. */
static bool add_dependent(struct native_code *code, const struct native_dependent *made, uint64_t first, uint64_t last)
{
	struct native_invalidation *invalidation = &code->invalidation;

	if (!invalidation->made)
		invalidation->made = calloc(PAGES, sizeof(struct native_dependent *));
	if (!invalidation->made)
		return false;
	for (uint64_t page = first >> 12; page <= last >> 12; page++) {
		struct native_dependent **head = &invalidation->made[page_place(page)];
		struct native_dependent *dependent;

		/* The blocks of a region, one after the other, are often in the same page. */
		if (*head && (*head)->region && (*head)->region == made->region &&
		    (*head)->forgotten == made->forgotten)
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
	code->invalidation.lost |= !add_dependent(code, &(struct native_dependent){.block = block}, block->block.ip,
						  block_last(block));
}

static uint64_t page_bits(uint64_t first, uint64_t last)
{
	uint64_t bits = 0;

	for (uint64_t page = first >> 12; page <= last >> 12 && ~bits; page++)
		bits |= native_page_bit(page << 12);
	return bits;
}

uint64_t native_invalidation_run_pages(const struct flow_block_run *run)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < run->count; i++) {
		const struct native_block *block = native_block_of(run->blocks[i]);

		if (block->tracked)
			bits |= page_bits(block->block.ip, block_last(block));
	}
	return bits;
}

static void add_region(struct native_code *code, struct native_region *region, uint64_t first, uint64_t last)
{
	region->pages |= page_bits(first, last);
	code->invalidation.lost |= !add_dependent(
		code, &(struct native_dependent){.region = region, .forgotten = region->forgotten}, first, last);
}

/* Where a region without code, or with less than there might be, looked for more. */
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

/* ---- forgetting -------------------------------------------------------------------------------------------- */

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

static void make_stub(struct native_region *region)
{
	*region = (struct native_region){
		.run = {.run = {.blocks = region->run.run.blocks}, .pushes = region->run.pushes},
		.decision = NATIVE_CONTINUE,
		.mode = region->mode,
		.stub = true,
		.chain = region->chain,
		.here = region->here,
		.forgotten = region->forgotten + 1,
	};
}

/* Forgets what depends if it is touched. True: it is no more, or was forgotten before. */
static bool forget_dependent(struct native_code *code, const struct native_dependent *made,
			     const struct flow_code_span *changes, size_t count, bool *stubs)
{
	struct native_block *block = made->block;
	struct native_region *region = made->region;

	if (block ? block->dead : region->forgotten != made->forgotten)
		return true;
	if (block ? !meet(block->block.ip, block_last(block), changes, count) : !region_meets(region, changes, count))
		return false;
	if (region) {
		make_stub(region);
		*stubs = true;
	} else {
		native_block_remove(code, block);
		block->dead = true;
	}
	return true;
}

/* Those that are found by one place of the table. */
static bool forget_place(struct native_code *code, size_t place, const struct flow_code_span *changes, size_t count)
{
	struct native_dependent **at = &code->invalidation.made[place];
	bool stubs = false;

	while (*at) {
		if (forget_dependent(code, *at, changes, count, &stubs))
			*at = (*at)->next;
		else
			at = &(*at)->next;
	}
	return stubs;
}

/* Blocks and regions; whether there were regions. */
static bool forget_made(struct native_code *code, const struct flow_code_span *changes, size_t count)
{
	bool stubs = false;

	for (size_t i = 0; code->invalidation.made && i < count; i++) {
		const uint64_t first = changes[i].first >> 12, last = changes[i].last >> 12;

		if (last - first < PAGES)
			for (uint64_t page = first; page <= last; page++)
				stubs |= forget_place(code, page_place(page), changes, count);
		else
			for (size_t place = 0; place < PAGES; place++)
				stubs |= forget_place(code, place, changes, count);
	}
	return stubs;
}

static void forget_tnt_entry(struct native_code *code, size_t place)
{
	code->tnt_cache[place].from = 0;
}

static void forget_word(struct native_code *code, size_t place)
{
	native_packet_word_forget(&code->packet_words, place);
}

/* Entries of a table that were made of these pages. */
static void forget_entries(struct native_code *code, uint64_t *table, size_t size, uint64_t bits,
			   void (*forget)(struct native_code *code, size_t place))
{
	for (size_t group = 0; table && group < size / NATIVE_INVALIDATION_GROUP; group++) {
		uint64_t *pages = table + group * NATIVE_INVALIDATION_GROUP, left = 0;

		if (!(table[size + group] & bits))
			continue;
		for (size_t i = 0; i < NATIVE_INVALIDATION_GROUP; i++) {
			if (pages[i] & bits) {
				forget(code, group * NATIVE_INVALIDATION_GROUP + i);
				pages[i] = 0;
			}
			left |= pages[i];
		}
		table[size + group] = left;
	}
}

/* Of all tables; entries that are not there are as if they had never been made. */
static void forget_tables(struct native_code *code, uint64_t bits)
{
	forget_entries(code, code->invalidation.tnt_cache, 1u << NATIVE_TNT_CACHE_SHIFT, bits, forget_tnt_entry);
	forget_entries(code, code->invalidation.packet_words, NATIVE_PACKET_WORDS, bits, forget_word);
	native_tnt16_change(&code->tnt16, bits);
}

/* Whether code that is not tracked is among what changed; it is tracked from now on. */
static bool fixed_changed(struct native_invalidation *invalidation, const struct flow_code_span *changes, size_t count)
{
	bool met = false;

	for (size_t i = 0; i < count; i++) {
		if (!native_spans_meet(&invalidation->fixed, changes[i].first, changes[i].last))
			continue;
		native_spans_add(&invalidation->changed, changes[i].first, changes[i].last);
		met = true;
	}
	return met;
}

bool native_code_change(struct native_code *code, const struct flow_code_span *changes, size_t count)
{
	uint64_t bits = 0;

	if (fixed_changed(&code->invalidation, changes, count) || code->invalidation.lost) {
		native_code_forget(code);
		return true;
	}
	for (size_t i = 0; i < count; i++)
		bits |= page_bits(changes[i].first, changes[i].last);
	/* What tables hold is made of regions. */
	if (forget_made(code, changes, count))
		forget_tables(code, bits);
	code->range = (struct flow_code_range){.first = 1};
	return false;
}

static void clear_table(uint64_t *table, size_t size)
{
	if (table)
		memset(table, 0, (size + size / NATIVE_INVALIDATION_GROUP) * sizeof(*table));
}

void native_invalidation_forget(struct native_invalidation *invalidation)
{
	native_spans_clear(&invalidation->fixed);
	if (invalidation->made)
		memset(invalidation->made, 0, PAGES * sizeof(struct native_dependent *));
	clear_table(invalidation->tnt_cache, 1u << NATIVE_TNT_CACHE_SHIFT);
	clear_table(invalidation->packet_words, NATIVE_PACKET_WORDS);
	invalidation->lost = false;
}

void native_invalidation_free(struct native_invalidation *invalidation)
{
	native_spans_free(&invalidation->fixed);
	native_spans_free(&invalidation->changed);
	free(invalidation->made);
	free(invalidation->tnt_cache);
	free(invalidation->packet_words);
	*invalidation = (struct native_invalidation){0};
}
