/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks TNT bits once and remembers their sums; contexts, each of which is made once. */
#include "flow/native/leap.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"

_Static_assert((NATIVE_CONTEXT_FACTOR * NATIVE_CONTEXT_INVERSE & (NATIVE_CONTEXT_LIMIT - 1)) == 1,
	       "numbers come back from ids");
_Static_assert(sizeof(struct native_leap) == 1 << 4, "offsets are of leaps");

/* A leap can be at four places: its own, and those of which two bits differ. Its tag then has them, where ids have zeros. */
#define PLACES 4
#define OTHER(index) ((uint32_t)(index) << 17)

/* Nodes without a decision in a row: more may be an endless loop. */
#define RUN_NODES 16
#define CONTEXT_DEPTH 64 /* calls that the CPU remembers */
#define HALF_BITS (NATIVE_LEAP_BITS / 2)

/* In the time that leaps take for a packet: walking once, a context of the stack when a lane begins, clearing the table. */
#define WALK_COST 16
#define FRAME_COST 2
#define CLEAR_COST 10000
/* What may be lost before leaps are found: first, and when they are tried again after a pause. */
#define CREDIT (1 << 20)
#define TRIAL (1 << 16)
/* Beginnings; each pause is twice as long as the one before, up to so many times. */
#define PAUSE 1024
#define PAUSES_MAX 10

void native_leaps_close(struct native_leaps *leaps)
{
	native_pages_free(leaps->table, NATIVE_LEAPS * sizeof(*leaps->table));
	common_hash_map_free(&leaps->by_node);
	free(leaps->contexts);
}

static void clear(struct native_leaps *leaps)
{
	if (leaps->table)
		memset(leaps->table, 0, NATIVE_LEAPS * sizeof(*leaps->table));
	leaps->credit -= CLEAR_COST;
	leaps->pages = 0;
}

void native_leaps_change(struct native_leaps *leaps, uint64_t pages)
{
	if (leaps->pages & pages)
		clear(leaps);
}

void native_leaps_forget(struct native_leaps *leaps)
{
	if (leaps->context_count)
		clear(leaps);
	common_hash_map_free(&leaps->by_node);
	leaps->context_count = 0;
	leaps->full = false;
}

/* Makes the table at first, and room for contexts. */
static bool prepare(struct native_leaps *leaps)
{
	if (!leaps->table) {
		leaps->table = native_pages_take(NATIVE_LEAPS * sizeof(*leaps->table));
		leaps->credit = CREDIT;
	}
	if (leaps->full && !leaps->lanes)
		native_leaps_forget(leaps);
	return leaps->table && !leaps->full;
}

bool native_leaps_begin(struct native_leaps *leaps, unsigned depth)
{
	if (leaps->pause) {
		leaps->pause--;
		return false;
	}
	if (!prepare(leaps))
		return false;
	leaps->credit -= (int64_t)depth * FRAME_COST;
	leaps->lanes++;
	return true;
}

void native_leaps_end(struct native_leaps *leaps, uint64_t packets)
{
	leaps->lanes--;
	leaps->credit += (int64_t)packets;
	if (leaps->credit > CREDIT) {
		leaps->credit = CREDIT;
		leaps->pauses = 0;
	} else if (leaps->credit < 0) {
		leaps->credit = TRIAL;
		leaps->pause = PAUSE << leaps->pauses;
		leaps->pauses += leaps->pauses < PAUSES_MAX;
	}
}

/* ---- contexts ---------------------------------------------------------------------------------------------- */

/* Pieces of an arena are aligned to 16 bytes, and addresses have 47 bits. */
static uint64_t key_of(const struct native_node *node, uint32_t under)
{
	return (uint64_t)(uintptr_t)node >> 4 << 19 | under;
}

static int grow_contexts(struct native_leaps *leaps)
{
	uint32_t capacity = leaps->context_capacity ? leaps->context_capacity * 2 : 1024;
	struct native_context *contexts = realloc(leaps->contexts, capacity * sizeof(*contexts));

	if (!contexts)
		return -1;
	leaps->contexts = contexts;
	leaps->context_capacity = capacity;
	return 0;
}

static uint32_t add_context(struct native_leaps *leaps, struct native_node *node, uint32_t under)
{
	uint32_t depth = under ? native_context_of(leaps, under)->depth + 1 : 0, number, id;

	leaps->full |= leaps->context_count >= NATIVE_CONTEXT_LIMIT - 2;
	if (leaps->full || depth > CONTEXT_DEPTH)
		return 0;
	/* Number 0 and the lost one are no contexts. */
	number = ++leaps->context_count;
	number += number >= (NATIVE_CONTEXT_INVERSE & (NATIVE_CONTEXT_LIMIT - 1));
	id = native_context_id(number);
	if ((number >= leaps->context_capacity && grow_contexts(leaps) < 0) ||
	    common_hash_map_put(&leaps->by_node, key_of(node, under), id) < 0) {
		leaps->context_count--;
		return 0;
	}
	leaps->contexts[number] = (struct native_context){node, under, depth};
	return id;
}

uint32_t native_context_get(struct native_leaps *leaps, struct native_node *node, uint32_t under)
{
	const uint64_t *known = common_hash_map_get(&leaps->by_node, key_of(node, under));

	return known ? (uint32_t)*known : add_context(leaps, node, under);
}

/* ---- walking ----------------------------------------------------------------------------------------------- */

/* A way as far as it has been walked. */
struct draft {
	struct native_node *node; /* NULL: it does not go on */
	uint32_t under;
	uint32_t blocks;
	uint64_t instructions;
};

/* Adds all of the draft's node; false where that is not for leaps. */
static bool leave_node(struct native_code *code, struct draft *draft)
{
	const struct native_run *run = &draft->node->run;

	draft->blocks += run->run.count;
	draft->instructions += run->run.instructions;
	code->leaps.pages |= draft->node->pages;
	for (uint32_t i = 0; i < run->push_count; i++) {
		struct native_node *back = native_site_follow(code, run->pushes[i], draft->node->mode);

		draft->under = back ? native_context_get(&code->leaps, back, draft->under) : 0;
		if (!draft->under)
			return false;
	}
	return run->run.branches == run->run.count;
}

static void take_return(struct native_code *code, struct draft *draft)
{
	const struct native_context *back = native_context_of(&code->leaps, draft->under);

	draft->node = draft->under ? back->node : NULL;
	draft->under = draft->under ? back->under : 0;
}

/* Leaves the draft's node by a bit. */
static void step(struct native_code *code, struct draft *draft, unsigned taken)
{
	struct native_node *node = draft->node;
	const bool returns = node->decision == NATIVE_RETURN && taken;

	if ((node->decision != NATIVE_CONDITIONAL && !returns) || !leave_node(code, draft))
		draft->node = NULL;
	else if (returns)
		take_return(code, draft);
	else
		draft->node = native_node_follow(code, node, taken);
}

/* To where a bit is wanted. */
static bool settle(struct native_code *code, struct draft *draft)
{
	for (unsigned i = 0; draft->node && draft->node->decision == NATIVE_CONTINUE; i++) {
		struct native_node *node = draft->node;

		draft->node = i < RUN_NODES && leave_node(code, draft) ? native_node_follow(code, node, 0) : NULL;
	}
	return draft->node != NULL;
}

static const struct native_leap lost = {.to = NATIVE_CONTEXT_LOST};

/* What the bits below a stop bit do in the context. */
static struct native_leap walk(struct native_code *code, uint32_t context, uint32_t window)
{
	const struct native_context *from = native_context_of(&code->leaps, context);
	struct draft draft = {.node = from->node, .under = from->under};
	uint32_t to;

	code->leaps.credit -= WALK_COST;
	/* What comes behind the last bit may be interrupted. */
	for (unsigned left = 31 - (unsigned)__builtin_clz(window); left > 0 && settle(code, &draft); left--)
		step(code, &draft, window >> (left - 1) & 1);
	if (!draft.node || draft.blocks > NATIVE_LEAP_BLOCKS_MAX || draft.instructions > NATIVE_LEAP_INSTRUCTIONS_MAX)
		return lost;
	to = native_context_get(&code->leaps, draft.node, draft.under);
	return to ? (struct native_leap){.to = to, .sums = draft.instructions << 24 | draft.blocks} : lost;
}

/* ---- the table --------------------------------------------------------------------------------------------- */

static struct native_leap short_leap(struct native_code *code, uint32_t context, uint32_t window)
{
	const uint64_t place = native_leap_place(context, window << 4);
	const struct native_leap *leap = native_leap_at(code->leaps.table + NATIVE_LEAPS_SHORT, place);

	if (leap->tag != context)
		native_leap_find(code, NATIVE_LEAPS_SHORT, context, place);
	return *leap;
}

/* In halves, which often are known where the whole is not. */
static struct native_leap join(struct native_code *code, uint32_t context, uint32_t bits, unsigned count)
{
	const struct native_leap first = short_leap(code, context, (bits | 1u << count) >> HALF_BITS);
	const struct native_leap second = short_leap(code, first.to,
						     (bits & ((1u << HALF_BITS) - 1)) | 1u << HALF_BITS);
	struct native_leap both = {.to = second.to, .sums = first.sums + second.sums};

	/* The sums of halves may be too large together. */
	if (NATIVE_SUMS_BLOCKS(both.sums) > NATIVE_LEAP_BLOCKS_MAX ||
	    NATIVE_SUMS_INSTRUCTIONS(both.sums) > NATIVE_LEAP_INSTRUCTIONS_MAX)
		return lost;
	return both;
}

static struct native_leap make(struct native_code *code, size_t part, uint32_t context, uint32_t window)
{
	if (context == NATIVE_CONTEXT_LOST)
		return lost;
	if (part == NATIVE_LEAPS_SHORT)
		return walk(code, context, window);
	return join(code, context, window, part ? NATIVE_LEAP_FIRST_BITS : NATIVE_LEAP_BITS);
}

/* Moves a leap from where another one has its place to another of its four; what is there goes. */
static void move_away(struct native_leap *part, uint64_t place, unsigned index)
{
	struct native_leap *leap = native_leap_at(part, place);

	if (leap->tag) {
		leap->tag ^= index;
		*native_leap_at(part, place ^ OTHER(index)) = *leap;
	}
}

void native_leap_find(struct native_code *code, size_t part, uint64_t context, uint64_t place)
{
	struct native_leap *table = code->leaps.table + part, found;
	unsigned index = 1;

	while (index < PLACES && native_leap_at(table, place ^ OTHER(index))->tag != (context | index))
		index++;
	if (index < PLACES) {
		found = *native_leap_at(table, place ^ OTHER(index));
		*native_leap_at(table, place ^ OTHER(index)) = (struct native_leap){0};
	} else {
		found = make(code, part, (uint32_t)context, (uint32_t)((place ^ context) >> 4));
		index = 1 + code->leaps.turn++ % (PLACES - 1);
	}
	found.tag = (uint32_t)context;
	move_away(table, place, index);
	*native_leap_at(table, place) = found;
}
