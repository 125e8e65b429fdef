/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes nodes of blocks, once for each address, and keeps both in tables by address. */
#include "flow/native/node.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "flow/native/block.h"
#include "flow/native/leap.h"
#include "flow/native/word.h"

#define FIRST_SLOTS (1u << 13)
#define NODES_AT_ONCE 32

static int grow_nodes(struct native_code *code)
{
	size_t slots = code->node_slots * 2;
	struct native_node **nodes = calloc(slots, sizeof(*nodes));

	if (!nodes)
		return -1;
	for (size_t i = 0; i < code->node_slots; i++) {
		struct native_node *node = code->nodes[i];

		while (node) {
			struct native_node *next = node->chain;
			struct native_node **head = &nodes[native_slot(node->here.ip, slots)];

			node->chain = *head;
			*head = node;
			node = next;
		}
	}
	native_table_free(code, code->nodes);
	code->nodes = nodes;
	code->node_slots = slots;
	return 0;
}

/* What has been put together of a node so far. The arrays are not cleared. */
struct draft {
	struct flow_block_run run;
	uint32_t push_count;
	bool watched;
	struct native_node node;
	const struct flow_block *blocks[NATIVE_NODE_BLOCKS];
	struct native_site *pushes[NATIVE_NODE_BLOCKS];
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

/* Adds the block and says where the next one starts; true at the node's end. */
static bool add_block(struct draft *draft, const struct flow_block *block, uint64_t *at)
{
	struct native_node *node = &draft->node;
	struct native_site *site = native_block_of(block)->site;

	draft->blocks[draft->run.count++] = block;
	draft->run.instructions += block->instructions;
	draft->run.branches += block->branch != FLOW_BRANCH_NONE;
	node->notable |= native_block_of(block)->notable;
	draft->watched |= native_block_of(block)->watched;
	if (site)
		draft->pushes[draft->push_count++] = site;
	if (block->branch == FLOW_BRANCH_JUMP || block->branch == FLOW_BRANCH_CALL) {
		*at = block->target;
		if (draft->run.count < NATIVE_NODE_BLOCKS && draft->run.instructions < NATIVE_NODE_INSTRUCTIONS)
			return false;
		node->decision = NATIVE_CONTINUE;
		return true;
	}
	node->decision = decisions[block->branch];
	return true;
}

static int draft_node(struct native_code *code, struct draft *draft, uint64_t ip, unsigned mode)
{
	uint64_t at = ip;
	bool ended = false;

	draft->run = (struct flow_block_run){0};
	draft->push_count = 0;
	draft->watched = false;
	draft->node = (struct native_node){.here = {.ip = ip}, .mode = (uint8_t)mode};
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
			draft->node.notable |= block->notable;
		}
		draft->watched |= block->watched;
		draft->node.decision = block->stop;
		draft->node.stop_ip = block->block.ip + block->block.size;
		ended = true;
	}
	return 0;
}

/* Copies the draft's run into the arena; that of one block is there already. False without memory. */
static bool keep_run(struct native_code *code, struct draft *draft)
{
	const size_t blocks = draft->run.count * sizeof(draft->blocks[0]);
	const size_t pushes = draft->push_count * sizeof(draft->pushes[0]);
	struct native_run *run = &draft->node.run;
	char *memory;

	run->run = draft->run;
	run->push_count = draft->push_count;
	run->returns = draft->node.decision == NATIVE_RETURN;
	if (draft->run.count == 1) {
		run->run.blocks = &native_block_of(draft->blocks[0])->self;
		run->pushes = &native_block_of(draft->blocks[0])->site;
		return true;
	}
	memory = native_arena_take(&code->arena, blocks + pushes);
	if (!memory)
		return false;
	run->run.blocks = memcpy(memory, draft->blocks, blocks);
	run->pushes = memcpy(memory + blocks, draft->pushes, pushes);
	return true;
}

/* Memory for a node, at the start of a cache line. */
static struct native_node *take_node(struct native_code *code)
{
	if (!code->spare_node_count) {
		char *memory = native_arena_take(&code->arena,
						 NODES_AT_ONCE * sizeof(struct native_node) + NATIVE_LINE);

		if (!memory)
			return NULL;
		code->spare_nodes = (struct native_node *)(memory + (-(uintptr_t)memory & (NATIVE_LINE - 1)));
		code->spare_node_count = NODES_AT_ONCE;
	}
	code->spare_node_count--;
	return code->spare_nodes++;
}

static struct native_node *make_node(struct native_code *code, uint64_t ip, unsigned mode)
{
	struct draft draft;
	struct native_node *node;

	if (draft_node(code, &draft, ip, mode) < 0)
		return NULL;
	node = take_node(code);
	if (!node || !keep_run(code, &draft))
		return NULL;
	*node = draft.node;
	node->here.node = node;
	if (draft.watched)
		native_watch_node(code, node);
	return node;
}

/* Makes a stub a node again; NULL without memory. */
static struct native_node *renew_node(struct native_code *code, struct native_node *node)
{
	struct draft draft;

	if (draft_node(code, &draft, node->here.ip, node->mode) < 0 || !keep_run(code, &draft))
		return NULL;
	draft.node.chain = node->chain;
	draft.node.here = node->here;
	draft.node.forgotten = node->forgotten;
	*node = draft.node;
	if (draft.watched)
		native_watch_node(code, node);
	return node;
}

struct native_node *native_node_get(struct native_code *code, uint64_t ip, unsigned mode)
{
	struct native_node *node = code->nodes[native_slot(ip, code->node_slots)];
	struct native_node **head;

	while (node && (node->here.ip != ip || node->mode != mode))
		node = node->chain;
	if (node)
		return node->stub ? renew_node(code, node) : node;
	if (code->node_count >= code->node_slots && grow_nodes(code) < 0)
		return NULL;
	node = make_node(code, ip, mode);
	if (!node)
		return NULL;
	head = &code->nodes[native_slot(ip, code->node_slots)];
	node->chain = *head;
	*head = node;
	code->node_count++;
	return node;
}

/* Where a CONDITIONAL or CONTINUE leads. */
static uint64_t next_ip(const struct native_node *node, unsigned taken)
{
	const struct flow_block_run *run = &node->run.run;
	const struct flow_block *last;

	if (node->stub)
		return node->here.ip;
	last = run->blocks[run->count - 1];
	return taken || (node->decision == NATIVE_CONTINUE && last->branch) ? last->target : last->ip + last->size;
}

struct native_node *native_node_link(struct native_code *code, struct native_node *node, unsigned taken)
{
	bool stub = node->stub;
	struct native_node *next = native_node_get(code, next_ip(node, taken), node->mode);

	if (!stub)
		node->next[taken] = next;
	return next;
}

/* What code->tables holds. */
struct tables {
	struct native_memo memo[1u << NATIVE_MEMO_SHIFT];
	struct native_target targets[1u << NATIVE_TARGET_SHIFT];
	struct native_node *nodes[FIRST_SLOTS];
	struct native_block *blocks[FIRST_SLOTS];
	/* What arenas begin with: no page faults of their own. */
	_Alignas(NATIVE_LINE) uint8_t first_arena[1088 << 10];
	_Alignas(NATIVE_LINE) uint8_t first_ways[256 << 10];
};

_Static_assert(sizeof(struct tables) <= NATIVE_HUGE_PAGE, "one page fault");

void native_table_free(const struct native_code *code, void *table)
{
	struct tables *tables = code->tables;

	if (tables && table != tables->nodes && table != tables->blocks)
		free(table);
}

int native_code_open(struct native_code *code, struct native_source source)
{
	struct tables *tables = native_pages_take(NATIVE_HUGE_PAGE);

	*code = (struct native_code){
		.source = source,
		.range = {.first = 1},
		.node_slots = FIRST_SLOTS,
		.block_slots = FIRST_SLOTS,
		.tables = tables,
	};
	if (!tables)
		return common_fail_memory("code tables", NATIVE_HUGE_PAGE);
	code->nodes = tables->nodes;
	code->blocks = tables->blocks;
	code->memo = tables->memo;
	code->targets = tables->targets;
	native_arena_lend(&code->arena, tables->first_arena, sizeof(tables->first_arena));
	native_arena_lend(&code->ways, tables->first_ways, sizeof(tables->first_ways));
	native_words_start(&code->words);
	return 0;
}

void native_code_close(struct native_code *code)
{
	native_arena_free(&code->arena);
	native_arena_free(&code->retired);
	native_table_free(code, code->nodes);
	native_table_free(code, code->blocks);
	native_arena_free(&code->ways);
	native_watch_free(&code->watch);
	native_leaps_close(&code->leaps);
	native_words_close(&code->words);
	native_pages_free(code->tables, NATIVE_HUGE_PAGE);
	free(code->lengths);
	*code = (struct native_code){0};
}

void native_code_forget(struct native_code *code)
{
	native_arena_move(&code->arena, &code->retired);
	native_arena_move(&code->ways, &code->retired);
	memset(code->nodes, 0, code->node_slots * sizeof(*code->nodes));
	memset(code->blocks, 0, code->block_slots * sizeof(*code->blocks));
	memset(code->targets, 0, sizeof(*code->targets) << NATIVE_TARGET_SHIFT);
	native_memo_forget(code);
	native_watch_forget(&code->watch);
	native_leaps_forget(&code->leaps);
	native_words_forget(&code->words, &code->retired);
	code->node_count = 0;
	code->spare_node_count = 0;
	code->block_count = 0;
	code->range = (struct flow_code_range){.first = 1};
}

void native_code_drop(struct native_code *code)
{
	native_arena_free(&code->retired);
}

size_t native_code_size(const struct native_code *code)
{
	return code->arena.total + code->ways.total + code->words.arena.total + code->retired.total;
}
