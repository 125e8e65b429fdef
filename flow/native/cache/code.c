/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens, clears and closes all caches of a code by one table. */
#include "flow/native/cache/code.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "flow/native/cache/block.h"
#include "flow/native/cache/cache.h"
#include "flow/native/cache/shared.h"

#define FIRST_SLOTS (1u << 13)

static const struct native_cache *const caches[] = {
	&native_cache_blocks,       &native_cache_regions,  &native_cache_targets,
	&native_cache_tnt,          &native_cache_tnt16,    &native_cache_packet_words,
	&native_cache_invalidation, &native_cache_counters, &native_cache_stretches,
};

#define CACHES (sizeof(caches) / sizeof(caches[0]))

/* Contents of code->tables: all memory for the first decoding, in one huge page, which costs one page fault. */
struct tables {
	struct native_tnt_entry tnt_entries[NATIVE_TNT_CACHE_ENTRIES];
	struct native_target targets[NATIVE_TARGETS];
	struct native_region *regions[FIRST_SLOTS];
	struct native_block *blocks[FIRST_SLOTS];
	_Alignas(NATIVE_LINE) uint8_t arena[1088 << 10];
	_Alignas(NATIVE_LINE) uint8_t tnt_runs[256 << 10];
};

_Static_assert(sizeof(struct tables) <= NATIVE_HUGE_PAGE, "one page fault");

void native_code_free_table(const struct native_code *code, void *table, size_t slot_count)
{
	struct tables *tables = code->tables;

	if (tables && table != tables->regions && table != tables->blocks)
		native_pages_free(table, slot_count * sizeof(void *));
}

int native_code_open(struct native_code *code, struct native_source source)
{
	struct tables *tables = native_pages_take(NATIVE_HUGE_PAGE);

	*code = (struct native_code){.source = source, .range = {.first = 1}, .tables = tables};
	if (!tables)
		return common_fail_memory("code tables", NATIVE_HUGE_PAGE);
	code->blocks = (struct native_block_table){.slots = tables->blocks, .slot_count = FIRST_SLOTS};
	code->regions = (struct native_region_table){.slots = tables->regions, .slot_count = FIRST_SLOTS};
	code->targets = (struct native_target_cache){.entries = tables->targets};
	code->tnt_cache = (struct native_tnt_cache){
		.entries = tables->tnt_entries,
		.made_of = {.size = NATIVE_TNT_CACHE_ENTRIES},
	};
	native_arena_lend(&code->arena, tables->arena, sizeof(tables->arena));
	native_arena_lend(&code->tnt_cache.runs, tables->tnt_runs, sizeof(tables->tnt_runs));
	code->generation = 1;
	native_packet_words_start(&code->packet_words);
	return 0;
}

void native_code_close(struct native_code *code)
{
	native_arena_free(&code->arena);
	native_arena_free(&code->retired);
	for (size_t i = 0; i < CACHES; i++)
		caches[i]->close(code);
	native_pages_free(code->tables, NATIVE_HUGE_PAGE);
	native_shared_leave(code->shared);
	native_shared_leave(code->retired_shared);
	*code = (struct native_code){0};
}

void native_code_clear(struct native_code *code)
{
	native_tnt16_drain(code);
	code->generation++;
	native_arena_move(&code->arena, &code->retired);
	for (size_t i = 0; i < CACHES; i++)
		caches[i]->clear(code);
	code->range = (struct flow_code_range){.first = 1};
	if (code->shared) {
		code->retired_shared = code->shared;
		code->shared = NULL;
	}
}

bool native_code_change(struct native_code *code, const struct flow_code_span *changes, size_t count)
{
	uint64_t pages = 0;

	/* Nothing tells which of the copied caches depend on the changes. */
	if (code->shared || native_invalidation_needs_all(&code->invalidation, changes, count)) {
		native_code_clear(code);
		return true;
	}
	for (size_t i = 0; i < count; i++)
		pages |= native_page_bits_of(changes[i].first, changes[i].last);
	code->range = (struct flow_code_range){.first = 1};
	if (code->tnt16.pages & pages)
		native_tnt16_drain(code);
	/* The other caches are made from regions: if no region has changed, no entry has changed. */
	if (!native_invalidation_change(code, changes, count))
		return false;
	code->generation++;
	for (size_t i = 0; i < CACHES; i++)
		if (caches[i]->invalidate)
			caches[i]->invalidate(code, pages);
	return false;
}

void native_code_trim(struct native_code *code)
{
	if (native_code_size(code) > NATIVE_CODE_LIMIT)
		native_code_clear(code);
	for (size_t i = 0; i < CACHES; i++)
		if (caches[i]->is_full && caches[i]->is_full(code))
			caches[i]->clear(code);
	if (code->retired.total)
		code->generation++;
	native_arena_reuse(&code->retired, &code->arena, NATIVE_CODE_LIMIT / 2);
	native_shared_leave(code->retired_shared);
	code->retired_shared = NULL;
}

size_t native_code_size(const struct native_code *code)
{
	size_t size = code->arena.total + code->retired.total;

	for (size_t i = 0; i < CACHES; i++)
		if (caches[i]->size)
			size += caches[i]->size(code);
	return size;
}
