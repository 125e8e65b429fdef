/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks a few TNT bits once and remembers their sums. */
#include "flow/native/stride.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"

_Static_assert(NATIVE_STATE_FACTOR *NATIVE_STATE_INVERSE == 1, "numbers come back from ids");

#define STATES_LIMIT (1u << 20)
/* Nodes without a decision in a row: more may be an endless loop. */
#define RUN_NODES 16
/* Calls on a way that have not returned yet. */
#define OPEN_CALLS 32
#define INSTRUCTIONS_MAX (32767 / NATIVE_STRIDE_STEPS)
#define BLOCKS_MAX (511 / NATIVE_STRIDE_STEPS)

void native_strides_close(struct native_strides *strides)
{
	free(strides->states);
	native_pages_free(strides->table, NATIVE_HUGE_PAGE);
}

bool native_strides_open(struct native_strides *strides)
{
	_Static_assert(sizeof(*strides->table) << NATIVE_STRIDE_SHIFT <= NATIVE_HUGE_PAGE, "one page fault");

	if (!strides->table)
		strides->table = native_pages_take(NATIVE_HUGE_PAGE);
	return strides->table;
}

void native_strides_forget(struct native_strides *strides)
{
	if (!strides->state_count)
		return;
	for (uint32_t i = 0; i < strides->state_count; i++)
		strides->states[i].node->state = NATIVE_STATE_NONE;
	strides->state_count = 0;
	memset(strides->table, 0, sizeof(*strides->table) << NATIVE_STRIDE_SHIFT);
}

bool native_strides_full(const struct native_strides *strides)
{
	return strides->state_count >= STATES_LIMIT;
}

static uint32_t add_state(struct native_strides *strides, struct native_node *node, uint32_t pushed)
{
	if (native_strides_full(strides))
		return NATIVE_STATE_NONE;
	if (strides->state_count == strides->state_capacity) {
		uint32_t capacity = strides->state_capacity ? strides->state_capacity * 2 : 1024;
		struct native_state *states = realloc(strides->states, capacity * sizeof(*states));

		strides->no_memory |= !states;
		if (!states)
			return NATIVE_STATE_NONE;
		strides->states = states;
		strides->state_capacity = capacity;
	}
	strides->states[strides->state_count++] = (struct native_state){node, pushed, NATIVE_STATE_NONE};
	return strides->state_count * NATIVE_STATE_FACTOR;
}

uint32_t native_state_get(struct native_strides *strides, struct native_node *node)
{
	if (!node->state)
		node->state = add_state(strides, node, 0);
	return node->state;
}

/* The state in which one more call of the node has been pushed. */
static uint32_t deeper_state(struct native_strides *strides, uint32_t state)
{
	struct native_state was = *native_state_of(strides, state);

	if (!was.deeper) {
		was.deeper = add_state(strides, was.node, was.pushed + 1);
		native_state_of(strides, state)->deeper = was.deeper;
	}
	return was.deeper;
}

/* A way as far as it has been walked. */
struct draft {
	struct native_node *node;
	uint32_t pushed; /* calls of node that were pushed before the way */
	struct native_site *open[OPEN_CALLS];
	uint32_t open_count;
	uint32_t used;
	uint32_t blocks;
	uint64_t instructions;
	uint64_t pages; /* see native_page_bit */
	bool popped;
};

/* Adds all of the draft's node; false where that is not for strides. */
static bool leave_node(struct draft *draft)
{
	const struct native_run *run = &draft->node->run;
	uint32_t pushes = run->push_count - draft->pushed;

	if (draft->open_count + pushes > OPEN_CALLS || draft->blocks + run->run.count > BLOCKS_MAX ||
	    draft->instructions + run->run.instructions > INSTRUCTIONS_MAX || run->run.branches != run->run.count)
		return false;
	memcpy(draft->open + draft->open_count, run->pushes + draft->pushed, pushes * sizeof(draft->open[0]));
	draft->open_count += pushes;
	draft->blocks += run->run.count;
	draft->instructions += run->run.instructions;
	draft->pages |= draft->node->pages;
	return true;
}

/* Leaves the draft's node by the decision at its end; false: it cannot be left, or the way ends here. */
static bool step(struct native_code *code, struct draft *draft, uint32_t bits, unsigned count)
{
	struct native_node *node = draft->node, *next;
	unsigned taken;

	/* What comes behind the last bit may be interrupted. */
	if (draft->used == count)
		return false;
	taken = bits >> (count - 1 - draft->used) & 1;
	if (node->decision != NATIVE_CONTINUE && node->decision != NATIVE_CONDITIONAL &&
	    (node->decision != NATIVE_RETURN || !taken))
		return false;
	if (!leave_node(draft))
		return false;
	draft->used += node->decision != NATIVE_CONTINUE;
	if (node->decision == NATIVE_RETURN && !draft->open_count) {
		draft->popped = true;
		return true;
	}
	if (node->decision == NATIVE_RETURN)
		next = native_site_follow(code, draft->open[--draft->open_count], node->mode);
	else
		next = native_node_follow(code, node, node->decision == NATIVE_CONDITIONAL ? taken : 0);
	code->strides.no_memory |= !next;
	draft->node = next;
	draft->pushed = 0;
	return next != NULL;
}

static bool finish(struct native_code *code, const struct draft *draft, uint32_t from, struct native_stride *made)
{
	struct native_strides *strides = &code->strides;
	uint32_t depth = draft->popped ? 3 : draft->open_count;

	*made = (struct native_stride){
		.from = from,
		.sums = (int32_t)(depth << 30 | (uint32_t)draft->instructions << 15 | draft->blocks << 6 | draft->used),
	};
	if (draft->open_count) {
		struct native_node *back = native_site_follow(code, draft->open[0], draft->node->mode);

		strides->no_memory |= !back;
		made->push = back ? native_state_get(strides, back) : NATIVE_STATE_NONE;
		if (!made->push)
			return false;
	}
	if (draft->popped)
		return true;
	made->to = native_state_get(strides, draft->node);
	return made->to != NATIVE_STATE_NONE;
}

/* One call of several that the state's node makes. */
static bool push_one(struct native_code *code, uint32_t from, struct native_stride *made)
{
	const struct native_state state = *native_state_of(&code->strides, from);
	const struct native_run *run = &state.node->run;
	struct native_node *back;

	if (state.pushed >= run->push_count)
		return false;
	back = native_site_follow(code, run->pushes[state.pushed], state.node->mode);
	code->strides.no_memory |= !back;
	*made = (struct native_stride){
		.from = from,
		.to = deeper_state(&code->strides, from),
		.push = back ? native_state_get(&code->strides, back) : NATIVE_STATE_NONE,
		.sums = 1u << 30,
	};
	return made->to && made->push;
}

/* As native_stride_walk; *pages: see native_page_bit. */
static bool walk(struct native_code *code, uint32_t from, uint32_t bits, unsigned count, struct native_stride *made,
		 uint64_t *pages)
{
	const struct native_state *state = native_state_of(&code->strides, from);
	struct draft draft = {.node = state->node, .pushed = state->pushed};
	struct draft good = {.node = NULL};
	unsigned passed = 0;

	/* The longest way that leaves at most one call open, and does something: else it might do so for ever. */
	while (!draft.popped && passed <= RUN_NODES && step(code, &draft, bits, count)) {
		passed = draft.node->decision == NATIVE_CONTINUE ? passed + 1 : 0;
		if (draft.open_count <= 1 && (draft.used || draft.open_count))
			good = draft;
	}
	*pages = good.node ? good.pages : state->node->pages;
	return good.node ? finish(code, &good, from, made) : push_one(code, from, made);
}

bool native_stride_walk(struct native_code *code, uint32_t from, uint32_t bits, unsigned count,
			struct native_stride *made)
{
	uint64_t pages;

	return walk(code, from, bits, count, made, &pages);
}

const struct native_stride *native_stride_make(struct native_code *code, uint32_t state, uint64_t bits)
{
	static const struct native_stride none;
	struct native_stride *table = code->strides.table;
	struct native_stride made;
	uint64_t pages;
	size_t place;

	if (!state ||
	    !walk(code, state, (uint32_t)(bits >> (64 - NATIVE_STRIDE_BITS)), NATIVE_STRIDE_BITS, &made, &pages))
		return &none;
	place = (size_t)(native_stride_at(table, state, bits) - table);
	table[place] = made;
	native_watch_entry(&code->watch, &code->watch.strides, 1u << NATIVE_STRIDE_SHIFT, place, pages);
	return &table[place];
}
