/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes regions of blocks, once for each address, and keeps both in tables by address. */
#include "flow/native/region.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "flow/native/block.h"
#include "flow/native/tnt16.h"
#include "flow/native/packet_word.h"

#define FIRST_SLOTS (1u << 13)
#define REGIONS_AT_ONCE 32

static int grow_regions(struct native_code *code)
{
	size_t slots = code->region_slots * 2;
	struct native_region **regions = calloc(slots, sizeof(*regions));

	if (!regions)
		return -1;
	for (size_t i = 0; i < code->region_slots; i++) {
		struct native_region *region = code->regions[i];

		while (region) {
			struct native_region *next = region->chain;
			struct native_region **head = &regions[native_slot(region->here.ip, slots)];

			region->chain = *head;
			*head = region;
			region = next;
		}
	}
	native_table_free(code, code->regions);
	code->regions = regions;
	code->region_slots = slots;
	return 0;
}

/* What has been put together of a region so far. The arrays are not cleared. */
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

/* Adds the block and says where the next one starts; true at the region's end. */
static bool add_block(struct draft *draft, const struct flow_block *block, uint64_t *at)
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
			ended = add_block(draft, &block->block, &at);
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

/* Copies the draft's run into the arena; that of one block is there already. False without memory. */
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

/* Memory for a region, at the start of a cache line. */
static struct native_region *take_region(struct native_code *code)
{
	if (!code->spare_region_count) {
		char *memory = native_arena_take(&code->arena,
						 REGIONS_AT_ONCE * sizeof(struct native_region) + NATIVE_LINE);

		if (!memory)
			return NULL;
		code->spare_regions = (struct native_region *)(memory + (-(uintptr_t)memory & (NATIVE_LINE - 1)));
		code->spare_region_count = REGIONS_AT_ONCE;
	}
	code->spare_region_count--;
	return code->spare_regions++;
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

/* Makes a stub a region again; NULL without memory. */
static struct native_region *remake_region(struct native_code *code, struct native_region *region)
{
	struct draft draft;

	if (draft_region(code, &draft, region->here.ip, region->mode) < 0 || !keep_run(code, &draft))
		return NULL;
	draft.region.chain = region->chain;
	draft.region.here = region->here;
	draft.region.forgotten = region->forgotten;
	*region = draft.region;
	if (draft.tracked)
		native_invalidation_add_region(code, region);
	return region;
}

struct native_region *native_region_get(struct native_code *code, uint64_t ip, unsigned mode)
{
	struct native_region *region = code->regions[native_slot(ip, code->region_slots)];
	struct native_region **head;

	while (region && (region->here.ip != ip || region->mode != mode))
		region = region->chain;
	if (region)
		return region->stub ? remake_region(code, region) : region;
	if (code->region_count >= code->region_slots && grow_regions(code) < 0)
		return NULL;
	region = make_region(code, ip, mode);
	if (!region)
		return NULL;
	head = &code->regions[native_slot(ip, code->region_slots)];
	region->chain = *head;
	*head = region;
	code->region_count++;
	return region;
}

/* Where a CONDITIONAL or CONTINUE leads. */
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

	if (!stub)
		region->next[taken] = next;
	return next;
}

/* What code->tables holds. */
struct tables {
	struct native_tnt_entry tnt_cache[1u << NATIVE_TNT_CACHE_SHIFT];
	struct native_target targets[1u << NATIVE_TARGET_SHIFT];
	struct native_region *regions[FIRST_SLOTS];
	struct native_block *blocks[FIRST_SLOTS];
	/* What arenas begin with: no page faults of their own. */
	_Alignas(NATIVE_LINE) uint8_t first_arena[1088 << 10];
	_Alignas(NATIVE_LINE) uint8_t first_tnt_runs[256 << 10];
};

_Static_assert(sizeof(struct tables) <= NATIVE_HUGE_PAGE, "one page fault");

void native_table_free(const struct native_code *code, void *table)
{
	struct tables *tables = code->tables;

	if (tables && table != tables->regions && table != tables->blocks)
		free(table);
}

int native_code_open(struct native_code *code, struct native_source source)
{
	struct tables *tables = native_pages_take(NATIVE_HUGE_PAGE);

	*code = (struct native_code){
		.source = source,
		.range = {.first = 1},
		.region_slots = FIRST_SLOTS,
		.block_slots = FIRST_SLOTS,
		.tables = tables,
	};
	if (!tables)
		return common_fail_memory("code tables", NATIVE_HUGE_PAGE);
	code->regions = tables->regions;
	code->blocks = tables->blocks;
	code->tnt_cache = tables->tnt_cache;
	code->targets = tables->targets;
	native_arena_lend(&code->arena, tables->first_arena, sizeof(tables->first_arena));
	native_arena_lend(&code->tnt_runs, tables->first_tnt_runs, sizeof(tables->first_tnt_runs));
	native_packet_words_start(&code->packet_words);
	return 0;
}

void native_code_close(struct native_code *code)
{
	native_arena_free(&code->arena);
	native_arena_free(&code->retired);
	native_table_free(code, code->regions);
	native_table_free(code, code->blocks);
	native_arena_free(&code->tnt_runs);
	native_invalidation_free(&code->invalidation);
	native_tnt16_close(&code->tnt16);
	native_packet_words_close(&code->packet_words);
	native_pages_free(code->tables, NATIVE_HUGE_PAGE);
	free(code->lengths);
	*code = (struct native_code){0};
}

void native_code_forget(struct native_code *code)
{
	native_arena_move(&code->arena, &code->retired);
	native_arena_move(&code->tnt_runs, &code->retired);
	memset(code->regions, 0, code->region_slots * sizeof(*code->regions));
	memset(code->blocks, 0, code->block_slots * sizeof(*code->blocks));
	memset(code->targets, 0, sizeof(*code->targets) << NATIVE_TARGET_SHIFT);
	native_tnt_cache_forget(code);
	native_invalidation_forget(&code->invalidation);
	native_tnt16_forget(&code->tnt16);
	native_packet_words_forget(&code->packet_words, &code->retired);
	code->region_count = 0;
	code->spare_region_count = 0;
	code->block_count = 0;
	code->range = (struct flow_code_range){.first = 1};
}

void native_code_drop(struct native_code *code)
{
	native_arena_free(&code->retired);
}

size_t native_code_size(const struct native_code *code)
{
	return code->arena.total + code->tnt_runs.total + code->packet_words.arena.total + code->retired.total;
}
