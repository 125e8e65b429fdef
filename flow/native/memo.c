/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks several TNT bits once and remembers the whole way. */
#include <string.h>

#include "flow/native/node.h"

/* Memory for ways; what is beyond is forgotten, and made again when it is met again. */
#define WAYS_LIMIT (16u << 20)
/* Blocks in one memoised run; a run that would be longer ends early. */
#define RUN_BLOCKS 512
/* Calls that a run may leave on the return stack, well below the stack's 64. */
#define RUN_PUSHES 32
/* Nodes without a decision in a row: an endless loop of direct jumps. */
#define RUN_NODES 16

struct sums {
	uint32_t instructions;
	uint32_t blocks;
	uint32_t branches;
	uint32_t pushes;
	uint64_t pages; /* of all nodes: see native_page_bit */
};

/* The arrays are not cleared: that would take longer than all else. */
struct draft {
	struct sums sums;
	const struct flow_block *blocks[RUN_BLOCKS];
	struct native_site *pushes[RUN_PUSHES];
};

/* Adds all of node to the way; false where it does not fit. */
static bool leave_node(struct draft *draft, const struct native_node *node)
{
	const struct flow_block_run *run = &node->run.run;
	struct sums *sums = &draft->sums;

	if (sums->blocks + run->count > RUN_BLOCKS || sums->pushes + node->run.push_count > RUN_PUSHES ||
	    sums->instructions + run->instructions > NATIVE_RUN_INSTRUCTIONS)
		return false;
	/* Mostly one block, and seldom a call: a call of memcpy would take longer. */
	for (uint32_t i = 0; i < run->count; i++)
		draft->blocks[sums->blocks++] = run->blocks[i];
	for (uint32_t i = 0; i < node->run.push_count; i++)
		draft->pushes[sums->pushes++] = node->run.pushes[i];
	sums->branches += run->branches;
	sums->instructions += (uint32_t)run->instructions;
	sums->pages |= node->pages;
	return true;
}

/* Takes one bit at node; NULL where the run has to end before it (or without memory: *failed). */
static struct native_node *step(struct native_code *code, struct draft *draft, struct native_node *node, unsigned taken,
				bool *failed)
{
	struct native_node *next;

	switch (node->decision) {
	case NATIVE_CONDITIONAL:
		if (!leave_node(draft, node))
			return NULL;
		next = native_node_follow(code, node, taken);
		break;
	case NATIVE_RETURN:
		/* The calls of the node itself come before its return. */
		if (!taken || !(draft->sums.pushes + node->run.push_count) || !leave_node(draft, node))
			return NULL;
		next = native_site_follow(code, draft->pushes[--draft->sums.pushes], node->mode);
		break;
	default:
		return NULL;
	}
	*failed |= !next;
	return next;
}

/* Leaves nodes that need no decision. */
static struct native_node *settle(struct native_code *code, struct draft *draft, struct native_node *node, bool *failed)
{
	for (unsigned i = 0; i < RUN_NODES && node->decision == NATIVE_CONTINUE; i++) {
		struct native_node *next;

		if (!leave_node(draft, node))
			break;
		next = native_node_follow(code, node, 0);
		*failed |= !next;
		if (!next)
			break;
		node = next;
	}
	return node;
}

static const struct native_run *keep(struct native_code *code, const struct draft *draft)
{
	size_t blocks = draft->sums.blocks * sizeof(draft->blocks[0]);
	size_t pushes = draft->sums.pushes * sizeof(draft->pushes[0]);
	struct native_run *way = native_arena_take(&code->ways, sizeof(*way) + blocks + pushes);
	char *memory;

	if (!way)
		return NULL;
	memory = (char *)(way + 1);
	way->run = (struct flow_block_run){
		.blocks = memcpy(memory, draft->blocks, blocks),
		.instructions = draft->sums.instructions,
		.count = draft->sums.blocks,
		.branches = draft->sums.branches,
	};
	way->pushes = memcpy(memory + blocks, draft->pushes, pushes);
	way->push_count = draft->sums.pushes;
	way->pops = 0;
	way->returns = false;
	return way;
}

const struct native_memo *native_memo_make(struct native_code *code, struct native_node *node, uint32_t key)
{
	struct native_memo *memo = native_memo_slot(code, node, key);
	struct draft draft;
	unsigned bits = 31 - (unsigned)__builtin_clz(key);
	const struct native_run *way;
	struct native_node *to;
	unsigned used = 0;
	bool failed = false;

	draft.sums = (struct sums){0};
	to = node;
	while (used < bits && !failed) {
		struct native_node *next;

		/* Only now: what comes behind the last bit may be interrupted. */
		to = settle(code, &draft, to, &failed);
		next = failed ? NULL : step(code, &draft, to, key >> (bits - 1 - used) & 1, &failed);
		if (!next)
			break;
		used++;
		to = next;
	}
	memo->from = 0;
	way = failed ? NULL : keep(code, &draft);
	if (!way)
		return NULL;
	memo->from = native_to(node) | (used != bits);
	memo->to = native_to(to);
	memo->way = (uint64_t)(uintptr_t)way | (uint64_t)used << 56;
	memo->instructions = draft.sums.instructions;
	memo->blocks = (uint16_t)draft.sums.blocks;
	memo->branches = (uint16_t)draft.sums.branches;
	native_watch_entry(&code->watch, &code->watch.ways, 1u << NATIVE_MEMO_SHIFT, (size_t)(memo - code->memo),
			   draft.sums.pages);
	return memo;
}

bool native_memo_full(const struct native_code *code)
{
	return code->ways.total > WAYS_LIMIT;
}

void native_memo_forget(struct native_code *code)
{
	memset(code->memo, 0, sizeof(*code->memo) << NATIVE_MEMO_SHIFT);
	native_arena_free(&code->ways);
}
