/* SPDX-License-Identifier: BSD-2-Clause */
/* Remembers what is made of watched code, by page, and forgets it where that changes. */
#include "flow/native/watch.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "flow/code/instruction.h"
#include "flow/native/block.h"
#include "flow/native/leap.h"
#include "flow/native/word.h"

#define PAGES_SHIFT 12 /* log2 of the table's places */
#define PAGES (1u << PAGES_SHIFT)

/* A block, or a node as it was made when it had been forgotten so often. In the code's arena, as these are. */
struct native_dependent {
	struct native_dependent *next;
	struct native_block *block;
	struct native_node *node;
	uint32_t forgotten;
};

void native_watch_range(struct native_watch *watch, const struct flow_code_range *range)
{
	watch->range = !range->bytes || range->code_event ||
		       native_spans_meet(&watch->changed, range->first, range->last);
	if (!watch->range)
		native_spans_add(&watch->fixed, range->first, range->last);
}

void native_watch_table(struct native_watch *watch, uint64_t **table, size_t size)
{
	*table = calloc(size + size / NATIVE_WATCH_GROUP, sizeof(**table));
	watch->lost |= !*table;
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
	struct native_watch *watch = &code->watch;

	if (!watch->made)
		watch->made = calloc(PAGES, sizeof(struct native_dependent *));
	if (!watch->made)
		return false;
	for (uint64_t page = first >> 12; page <= last >> 12; page++) {
		struct native_dependent **head = &watch->made[page_place(page)];
		struct native_dependent *dependent;

		/* The blocks of a node, one after the other, are often in the same page. */
		if (*head && (*head)->node && (*head)->node == made->node && (*head)->forgotten == made->forgotten)
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

void native_watch_block(struct native_code *code, struct native_block *block)
{
	code->watch.lost |= !add_dependent(code, &(struct native_dependent){.block = block}, block->block.ip,
					   block_last(block));
}

static uint64_t page_bits(uint64_t first, uint64_t last)
{
	uint64_t bits = 0;

	for (uint64_t page = first >> 12; page <= last >> 12 && ~bits; page++)
		bits |= native_page_bit(page << 12);
	return bits;
}

uint64_t native_watch_run(const struct flow_block_run *run)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < run->count; i++) {
		const struct native_block *block = native_block_of(run->blocks[i]);

		if (block->watched)
			bits |= page_bits(block->block.ip, block_last(block));
	}
	return bits;
}

static void add_node(struct native_code *code, struct native_node *node, uint64_t first, uint64_t last)
{
	node->pages |= page_bits(first, last);
	code->watch.lost |= !add_dependent(code, &(struct native_dependent){.node = node, .forgotten = node->forgotten},
					   first, last);
}

/* Where a node without code, or with less than there might be, looked for more. */
static uint64_t stop_last(const struct native_node *node)
{
	uint64_t last = node->stop_ip + FLOW_INSTRUCTION_MAX - 1;

	return last >= node->stop_ip ? last : UINT64_MAX;
}

void native_watch_node(struct native_code *code, struct native_node *node)
{
	const struct flow_block_run *run = &node->run.run;

	for (uint32_t i = 0; i < run->count; i++) {
		const struct native_block *block = native_block_of(run->blocks[i]);

		if (block->watched)
			add_node(code, node, block->block.ip, block_last(block));
	}
	if (node->decision > NATIVE_CONTINUE)
		add_node(code, node, node->stop_ip, stop_last(node));
}

/* ---- forgetting -------------------------------------------------------------------------------------------- */

static bool meet(uint64_t first, uint64_t last, const struct flow_code_span *changes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (changes[i].first <= last && changes[i].last >= first)
			return true;
	return false;
}

static bool node_meets(const struct native_node *node, const struct flow_code_span *changes, size_t count)
{
	const struct flow_block_run *run = &node->run.run;

	for (uint32_t i = 0; i < run->count; i++)
		if (meet(run->blocks[i]->ip, block_last(native_block_of(run->blocks[i])), changes, count))
			return true;
	return node->decision > NATIVE_CONTINUE && meet(node->stop_ip, stop_last(node), changes, count);
}

static void make_stub(struct native_node *node)
{
	*node = (struct native_node){
		.run = {.run = {.blocks = node->run.run.blocks}, .pushes = node->run.pushes},
		.decision = NATIVE_CONTINUE,
		.mode = node->mode,
		.stub = true,
		.chain = node->chain,
		.here = node->here,
		.forgotten = node->forgotten + 1,
	};
}

/* Forgets what depends if it is touched. True: it is no more, or was forgotten before. */
static bool forget_dependent(struct native_code *code, const struct native_dependent *made,
			     const struct flow_code_span *changes, size_t count, bool *stubs)
{
	struct native_block *block = made->block;
	struct native_node *node = made->node;

	if (block ? block->dead : node->forgotten != made->forgotten)
		return true;
	if (block ? !meet(block->block.ip, block_last(block), changes, count) : !node_meets(node, changes, count))
		return false;
	if (node) {
		make_stub(node);
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
	struct native_dependent **at = &code->watch.made[place];
	bool stubs = false;

	while (*at) {
		if (forget_dependent(code, *at, changes, count, &stubs))
			*at = (*at)->next;
		else
			at = &(*at)->next;
	}
	return stubs;
}

/* Blocks and nodes; whether there were nodes. */
static bool forget_made(struct native_code *code, const struct flow_code_span *changes, size_t count)
{
	bool stubs = false;

	for (size_t i = 0; code->watch.made && i < count; i++) {
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

static void forget_way(struct native_code *code, size_t place)
{
	code->memo[place].from = 0;
}

static void forget_word(struct native_code *code, size_t place)
{
	native_word_forget(&code->words, place);
}

/* Entries of a table that were made of these pages. */
static void forget_entries(struct native_code *code, uint64_t *table, size_t size, uint64_t bits,
			   void (*forget)(struct native_code *code, size_t place))
{
	for (size_t group = 0; table && group < size / NATIVE_WATCH_GROUP; group++) {
		uint64_t *pages = table + group * NATIVE_WATCH_GROUP, left = 0;

		if (!(table[size + group] & bits))
			continue;
		for (size_t i = 0; i < NATIVE_WATCH_GROUP; i++) {
			if (pages[i] & bits) {
				forget(code, group * NATIVE_WATCH_GROUP + i);
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
	forget_entries(code, code->watch.ways, 1u << NATIVE_MEMO_SHIFT, bits, forget_way);
	forget_entries(code, code->watch.words, NATIVE_WORDS, bits, forget_word);
	native_leaps_change(&code->leaps, bits);
}

/* Whether code that is not watched is among what changed; it is watched from now on. */
static bool fixed_changed(struct native_watch *watch, const struct flow_code_span *changes, size_t count)
{
	bool met = false;

	for (size_t i = 0; i < count; i++) {
		if (!native_spans_meet(&watch->fixed, changes[i].first, changes[i].last))
			continue;
		native_spans_add(&watch->changed, changes[i].first, changes[i].last);
		met = true;
	}
	return met;
}

bool native_code_change(struct native_code *code, const struct flow_code_span *changes, size_t count)
{
	uint64_t bits = 0;

	if (fixed_changed(&code->watch, changes, count) || code->watch.lost) {
		native_code_forget(code);
		return true;
	}
	for (size_t i = 0; i < count; i++)
		bits |= page_bits(changes[i].first, changes[i].last);
	/* What tables hold is made of nodes. */
	if (forget_made(code, changes, count))
		forget_tables(code, bits);
	code->range = (struct flow_code_range){.first = 1};
	return false;
}

static void clear_table(uint64_t *table, size_t size)
{
	if (table)
		memset(table, 0, (size + size / NATIVE_WATCH_GROUP) * sizeof(*table));
}

void native_watch_forget(struct native_watch *watch)
{
	native_spans_clear(&watch->fixed);
	if (watch->made)
		memset(watch->made, 0, PAGES * sizeof(struct native_dependent *));
	clear_table(watch->ways, 1u << NATIVE_MEMO_SHIFT);
	clear_table(watch->words, NATIVE_WORDS);
	watch->lost = false;
}

void native_watch_free(struct native_watch *watch)
{
	native_spans_free(&watch->fixed);
	native_spans_free(&watch->changed);
	free(watch->made);
	free(watch->ways);
	free(watch->words);
	*watch = (struct native_watch){0};
}
