/* SPDX-License-Identifier: BSD-2-Clause */
/* The TNT16 cache: follows TNT bits once, and keeps their sums. Each context is made once. */
#include "flow/native/cache/tnt16.h"

#include <stdlib.h>
#include <string.h>

#include "common/vector.h"
#include "flow/native/cache/cache.h"
#include "flow/native/cache/code.h"

_Static_assert((NATIVE_CONTEXT_FACTOR * NATIVE_CONTEXT_INVERSE & (NATIVE_CONTEXT_LIMIT - 1)) == 1,
	       "numbers come back from ids");
_Static_assert(sizeof(struct native_tnt16_entry) == 1 << 4, "offsets are of tnt16");

/*
 * Number of possible places of an entry: its own place, and three places that differ in two bits. The tag has these two
 * bits, which are zero in ids.
 */
#define PLACES 4
#define OTHER(index) ((uint32_t)(index) << 17)

/* maximum number of consecutive regions without a decision; more may be an endless loop */
#define RUN_REGIONS 16
#define CONTEXT_DEPTH 64 /* calls that the CPU remembers */
#define HALF_BITS (NATIVE_TNT16_BITS / 2)

/*
 * Costs, in counted packets: of computing an entry, of a stack's context when a slot begins, and of clearing the table.
 */
#define WALK_COST 16
#define FRAME_COST 2
#define CLEAR_COST 10000
/* Credit at first and after a pause; also the maximum credit. */
#define CREDIT (1 << 17)
/*
 * calls of native_tnt16_begin in the first pause; each pause is twice as long as the previous pause, up to PAUSES_MAX
 * times
 */
#define PAUSE 1024
#define PAUSES_MAX 10

void native_tnt16_close(struct native_tnt16 *tnt16)
{
	native_pages_free(tnt16->table, NATIVE_TNT16_ENTRIES * sizeof(*tnt16->table));
	common_hash_map_free(&tnt16->by_region);
	free(tnt16->contexts);
}

static void clear_entries(struct native_code *code)
{
	struct native_tnt16 *tnt16 = &code->tnt16;

	native_tnt16_drain(code);
	if (tnt16->table)
		memset(tnt16->table, 0, NATIVE_TNT16_ENTRIES * sizeof(*tnt16->table));
	tnt16->credit -= CLEAR_COST;
	tnt16->pages = 0;
}

/* Removes all entries and contexts. */
static void clear_contexts(struct native_code *code)
{
	struct native_tnt16 *tnt16 = &code->tnt16;

	if (tnt16->context_count)
		clear_entries(code);
	common_hash_map_free(&tnt16->by_region);
	tnt16->context_count = 0;
	tnt16->full = false;
}

/* Allocates the table at first use. Clears the cache if there is no room for contexts. */
static bool prepare_table(struct native_code *code)
{
	struct native_tnt16 *tnt16 = &code->tnt16;

	if (!tnt16->table) {
		tnt16->table = native_pages_take(NATIVE_TNT16_ENTRIES * sizeof(*tnt16->table));
		tnt16->credit = CREDIT;
	}
	if (tnt16->full && !tnt16->users)
		clear_contexts(code);
	return tnt16->table && !tnt16->full;
}

bool native_tnt16_begin(struct native_code *code, unsigned depth)
{
	struct native_tnt16 *tnt16 = &code->tnt16;

	if (tnt16->pause) {
		tnt16->pause--;
		return false;
	}
	if (!prepare_table(code))
		return false;
	tnt16->credit -= (int64_t)depth * FRAME_COST;
	tnt16->counted = true;
	tnt16->users++;
	return true;
}

void native_tnt16_end(struct native_tnt16 *tnt16, uint64_t packets)
{
	tnt16->users--;
	tnt16->credit += (int64_t)packets;
	if (tnt16->credit > CREDIT) {
		tnt16->credit = CREDIT;
		tnt16->pauses = 0;
	} else if (tnt16->credit < 0) {
		tnt16->credit = CREDIT;
		tnt16->pause = PAUSE << tnt16->pauses;
		tnt16->pauses += tnt16->pauses < PAUSES_MAX;
	}
}

/* ---- contexts ---------------------------------------------------------------------------------------------- */

/* Pieces of an arena are aligned to 16 bytes, and addresses have 47 bits. */
static uint64_t key_of(const struct native_region *region, uint32_t under)
{
	return (uint64_t)(uintptr_t)region >> 4 << 19 | under;
}

static uint32_t add_context(struct native_tnt16 *tnt16, struct native_region *region, uint32_t under)
{
	uint32_t depth = under ? native_context_of(tnt16, under)->depth + 1 : 0, number, id;

	tnt16->full |= tnt16->context_count >= NATIVE_CONTEXT_LIMIT - 2;
	if (tnt16->full || depth > CONTEXT_DEPTH)
		return 0;
	/* Number 0 and the number of the lost context are not used. */
	number = ++tnt16->context_count;
	number += number >= (NATIVE_CONTEXT_INVERSE & (NATIVE_CONTEXT_LIMIT - 1));
	id = native_context_id(number);
	if (!COMMON_VECTOR_GROW(tnt16->contexts, tnt16->context_capacity, (size_t)number + 1) ||
	    common_hash_map_put(&tnt16->by_region, key_of(region, under), id) < 0) {
		tnt16->context_count--;
		return 0;
	}
	tnt16->contexts[number] = (struct native_context){region, under, depth};
	return id;
}

uint32_t native_context_get(struct native_tnt16 *tnt16, struct native_region *region, uint32_t under)
{
	const uint64_t *known = common_hash_map_get(&tnt16->by_region, key_of(region, under));

	return known ? (uint32_t)*known : add_context(tnt16, region, under);
}

/* ---- walking ----------------------------------------------------------------------------------------------- */

/* The result of following bits so far. */
struct draft {
	struct native_region *region; /* NULL: the bits cannot be followed */
	uint32_t under;
	uint32_t blocks;
	uint64_t instructions;
	uint64_t count; /* count to add to the counters of the followed regions */
};

static void count_region(struct native_code *code, const struct draft *draft, unsigned way)
{
	const uint32_t number = native_counter_of(code, draft->region);

	if (number)
		native_counters_counted(&code->counters, number)->count[way] += draft->count;
	else
		code->counters.status = PTL_NO_MEMORY;
}

/* Adds the draft's region, which is left by this way. Returns false if an entry cannot contain the region. */
static bool leave_region(struct native_code *code, struct draft *draft, unsigned way)
{
	const struct native_run *run = &draft->region->run;

	if (draft->count)
		count_region(code, draft, way);

	draft->blocks += run->run.count;
	draft->instructions += run->run.instructions;
	code->tnt16.pages |= native_region_pages(draft->region);
	for (uint32_t i = 0; i < run->push_count; i++) {
		struct native_region *back = native_return_site_follow(code, run->pushes[i], draft->region->mode);

		draft->under = back ? native_context_get(&code->tnt16, back, draft->under) : 0;
		if (!draft->under)
			return false;
	}
	return run->run.branches == run->run.count;
}

static void take_return(struct native_code *code, struct draft *draft)
{
	const struct native_context *back = native_context_of(&code->tnt16, draft->under);

	draft->region = draft->under ? back->region : NULL;
	draft->under = draft->under ? back->under : 0;
}

/* Follows one bit from the draft's region. */
static void step_draft(struct native_code *code, struct draft *draft, unsigned taken)
{
	struct native_region *region = draft->region;
	const bool returns = region->decision == NATIVE_RETURN && taken;

	if ((region->decision != NATIVE_CONDITIONAL && !returns) || !leave_region(code, draft, taken))
		draft->region = NULL;
	else if (returns)
		take_return(code, draft);
	else
		draft->region = native_region_follow(code, region, taken);
}

/* Moves to the next region where a bit decides. */
static bool settle_draft(struct native_code *code, struct draft *draft)
{
	for (unsigned i = 0; draft->region && draft->region->decision == NATIVE_CONTINUE; i++) {
		struct native_region *region = draft->region;

		draft->region = i < RUN_REGIONS && leave_region(code, draft, 0) ? native_region_follow(code, region, 0)
										: NULL;
	}
	return draft->region != NULL;
}

static const struct native_tnt16_entry lost = {.to = NATIVE_CONTEXT_LOST};

/* Follows the bits below a stop bit from the context. */
static void follow_bits(struct native_code *code, struct draft *draft, uint32_t context, uint32_t window)
{
	const struct native_context *from = native_context_of(&code->tnt16, context);

	draft->region = from->region;
	draft->under = from->under;
	/* An interrupt may follow the last bit, so code after the last bit is left out. */
	for (unsigned left = 31 - (unsigned)__builtin_clz(window); left > 0 && settle_draft(code, draft); left--)
		step_draft(code, draft, window >> (left - 1) & 1);
}

/*
 * Computes the effect of the bits below a stop bit in the context. The effect ends before a block, so that flow
 * certainly continues there.
 */
static struct native_tnt16_entry walk_bits(struct native_code *code, uint32_t context, uint32_t window)
{
	struct draft draft = {.count = 0};
	uint32_t to;

	code->tnt16.credit -= WALK_COST;
	follow_bits(code, &draft, context, window);
	if (!draft.region || !draft.region->run.run.count || draft.blocks > NATIVE_TNT16_BLOCKS_MAX ||
	    draft.instructions > NATIVE_TNT16_INSTRUCTIONS_MAX)
		return lost;
	to = native_context_get(&code->tnt16, draft.region, draft.under);
	return to ? (struct native_tnt16_entry){.to = to, .sums = draft.instructions << 24 | draft.blocks} : lost;
}

/* ---- counts ------------------------------------------------------------------------------------------------ */

/* Returns the stop bit for windows of this part of the table; 0: the window contains a stop bit. */
static uint32_t stop_bit(size_t part)
{
	if (part == NATIVE_TNT16_SHORT)
		return 0;
	return 1u << (part ? NATIVE_TNT16_FIRST_BITS : NATIVE_TNT16_BITS);
}

/* Adds the count of the entry at a place to the counters. */
static void drain_entry(struct native_code *code, size_t part, uint64_t place)
{
	struct native_tnt16_entry *entry = native_tnt16_at(code->tnt16.table + part, place);
	const uint64_t context = entry->tag & NATIVE_CONTEXT_IDS, index = entry->tag & (PLACES - 1);
	struct draft draft = {.count = entry->sums};

	if (entry->tag && entry->sums && entry->to != NATIVE_CONTEXT_LOST && context != NATIVE_CONTEXT_LOST)
		follow_bits(code, &draft, (uint32_t)context,
			    (uint32_t)((place ^ OTHER(index) ^ context) >> 4) | stop_bit(part));
	entry->sums = 0;
}

static void drain_part(struct native_code *code, size_t part, size_t count)
{
	for (size_t i = 0; i < count; i++)
		drain_entry(code, part, i * sizeof(struct native_tnt16_entry));
}

void native_tnt16_drain(struct native_code *code)
{
	if (!code->counters.sink || !code->tnt16.counted)
		return;
	drain_part(code, 0, NATIVE_TNT16_FIRST);
	drain_part(code, NATIVE_TNT16_FIRST, NATIVE_TNT16_SHORT - NATIVE_TNT16_FIRST);
	drain_part(code, NATIVE_TNT16_SHORT, NATIVE_TNT16_ENTRIES - NATIVE_TNT16_SHORT);
	code->tnt16.counted = false;
}

/* ---- the table --------------------------------------------------------------------------------------------- */

static struct native_tnt16_entry short_entry(struct native_code *code, uint32_t context, uint32_t window)
{
	const uint64_t place = native_tnt16_place(context, window << 4);
	const struct native_tnt16_entry *entry = native_tnt16_at(code->tnt16.table + NATIVE_TNT16_SHORT, place);

	if (entry->tag != context)
		native_tnt16_find(code, NATIVE_TNT16_SHORT, context, place);
	return *entry;
}

/* Computes an entry from its halves, which are often cached. */
static struct native_tnt16_entry join_halves(struct native_code *code, uint32_t context, uint32_t bits, unsigned count)
{
	const struct native_tnt16_entry first = short_entry(code, context, (bits | 1u << count) >> HALF_BITS);
	const struct native_tnt16_entry second = short_entry(code, first.to,
							     (bits & ((1u << HALF_BITS) - 1)) | 1u << HALF_BITS);
	struct native_tnt16_entry both = {.to = second.to, .sums = first.sums + second.sums};

	/* The sums of both halves may be too large together. */
	if (NATIVE_TNT16_SUM_BLOCKS(both.sums) > NATIVE_TNT16_BLOCKS_MAX ||
	    NATIVE_TNT16_SUM_INSTRUCTIONS(both.sums) > NATIVE_TNT16_INSTRUCTIONS_MAX)
		return lost;
	return both;
}

static struct native_tnt16_entry make_entry(struct native_code *code, size_t part, uint32_t context, uint32_t window)
{
	if (context == NATIVE_CONTEXT_LOST)
		return lost;
	if (part == NATIVE_TNT16_SHORT)
		return walk_bits(code, context, window);
	return join_halves(code, context, window, part ? NATIVE_TNT16_FIRST_BITS : NATIVE_TNT16_BITS);
}

/* Moves an entry to another of its four places. The entry in that place is dropped. */
static void move_away(struct native_code *code, size_t part, uint64_t place, unsigned index)
{
	struct native_tnt16_entry *entry = native_tnt16_at(code->tnt16.table + part, place);

	if (!entry->tag)
		return;
	if (code->counters.sink)
		drain_entry(code, part, place ^ OTHER(index));
	entry->tag ^= index;
	*native_tnt16_at(code->tnt16.table + part, place ^ OTHER(index)) = *entry;
}

void native_tnt16_find(struct native_code *code, size_t part, uint64_t context, uint64_t place)
{
	struct native_tnt16_entry *table = code->tnt16.table + part, found;
	unsigned index = 1;

	while (index < PLACES && native_tnt16_at(table, place ^ OTHER(index))->tag != (context | index))
		index++;
	if (index < PLACES) {
		found = *native_tnt16_at(table, place ^ OTHER(index));
		*native_tnt16_at(table, place ^ OTHER(index)) = (struct native_tnt16_entry){0};
	} else {
		found = make_entry(code, part, (uint32_t)context, (uint32_t)((place ^ context) >> 4));
		if (code->counters.sink)
			found.sums = 0;
		index = 1 + code->tnt16.turn++ % (PLACES - 1);
	}
	found.tag = (uint32_t)context;
	move_away(code, part, place, index);
	*native_tnt16_at(table, place) = found;
}

/* ---- as one of the caches ---------------------------------------------------------------------------------- */

static void close_tnt16(struct native_code *code)
{
	native_tnt16_close(&code->tnt16);
}

static void clear_tnt16(struct native_code *code)
{
	clear_contexts(code);
}

/* Entries do not record their dependencies, because there are too many entries. */
static void invalidate_tnt16(struct native_code *code, uint64_t pages)
{
	if (code->tnt16.pages & pages)
		clear_entries(code);
}

const struct native_cache native_cache_tnt16 = {
	.close = close_tnt16, .clear = clear_tnt16, .invalidate = invalidate_tnt16};
