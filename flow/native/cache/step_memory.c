/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of remembered steps, and the numbers of contexts and states. */
#include "flow/native/cache/step_memory.h"

#include <stdlib.h>
#include <string.h>

#include "common/vector.h"
#include "flow/native/cache/arena.h"
#include "flow/native/cache/cache.h"
#include "flow/native/cache/code.h"

_Static_assert(sizeof(struct native_step_entry) == 16, "a quarter of a cache line");

/* maximum numbers of contexts and states; above, the table is cleared */
#define CONTEXTS_MAX (1u << 18)
#define STATES_MAX (1u << 18)

#define CONTEXT_WORDS (offsetof(struct native_step_context, depth) / sizeof(uint64_t))
#define STATE_WORDS (sizeof(struct native_step_state) / sizeof(uint64_t))

#define DEPTH_MAX 63 /* calls; less than the CPU remembers, so that the CPU has forgotten no call */

/* Costs, in found steps: of an unknown step, and of clearing the table. */
#define LEARN_COST 10
#define LEARN_COST_BITS 80 /* if the worth of a step is its number of bits */
#define CLEAR_COST 4000
/* Credit at first, and credit after a pause. */
#define CREDIT (1 << 19)
#define TRIAL (1 << 16)
/* bytes of the first pause; each pause is twice as long as the previous pause, up to PAUSES_MAX times */
#define PAUSE (1 << 18)
#define PAUSES_MAX 4

/* ---- begin and end ----------------------------------------------------------------------------------------- */

void native_step_memory_clear(struct native_step_memory *memory)
{
	if (memory->context_count > 1) {
		memset(memory->table, 0, NATIVE_STEP_ENTRIES * sizeof(*memory->table));
		common_number_table_clear(&memory->context_numbers);
		common_number_table_clear(&memory->state_numbers);
		memory->credit -= CLEAR_COST;
	}
	memory->context_count = memory->state_count = 1;
	memory->full = false;
}

bool native_step_memory_begin(struct native_step_memory *memory, const struct flow_step_states *consumer)
{
	if (!consumer || memory->pause > 0)
		return false;
	if (!memory->table) {
		memory->table = native_pages_take(NATIVE_STEP_ENTRIES * sizeof(*memory->table));
		memory->credit = CREDIT;
		memory->context_count = memory->state_count = 1;
	}
	if (memory->consumer != consumer || memory->generation != *consumer->generation || memory->full)
		native_step_memory_clear(memory);
	memory->consumer = consumer;
	memory->generation = *consumer->generation;
	return memory->table;
}

void native_step_memory_end(struct native_step_memory *memory, uint64_t bytes)
{
	if (memory->pause > 0) {
		memory->pause -= (int64_t)bytes;
	} else if (memory->credit > CREDIT) {
		memory->credit = CREDIT;
		memory->pauses = 0;
	} else if (memory->credit < 0) {
		memory->credit = TRIAL;
		memory->pause = (int64_t)PAUSE << memory->pauses;
		memory->pauses += memory->pauses < PAUSES_MAX;
	}
}

/* ---- numbers ----------------------------------------------------------------------------------------------- */

uint32_t native_step_context(struct native_step_memory *memory, uint32_t here, uint32_t under)
{
	const struct native_step_context like = {here, under, under ? memory->contexts[under].depth + 1 : 0};
	struct common_numbered array = {.size = sizeof(like), .words = CONTEXT_WORDS};
	uint32_t number;

	memory->full |= memory->context_count >= CONTEXTS_MAX;
	if (memory->full || like.depth > DEPTH_MAX ||
	    !COMMON_VECTOR_GROW(memory->contexts, memory->context_capacity, memory->context_count + 1))
		return 0;
	array.elements = memory->contexts;
	number = common_number_of(&memory->context_numbers, array, memory->context_count, &like);
	if (number == memory->context_count)
		memory->contexts[memory->context_count++] = like;
	return number;
}

uint32_t native_step_state(struct native_step_memory *memory, uint32_t context, uint32_t consumer)
{
	const struct native_step_state like = {context, consumer};
	struct common_numbered array = {.size = sizeof(like), .words = STATE_WORDS};
	uint32_t number;

	memory->full |= memory->state_count >= STATES_MAX;
	if (memory->full || !COMMON_VECTOR_GROW(memory->states, memory->state_capacity, memory->state_count + 1))
		return 0;
	array.elements = memory->states;
	number = common_number_of(&memory->state_numbers, array, memory->state_count, &like);
	if (number == memory->state_count)
		memory->states[memory->state_count++] = like;
	return number;
}

/* ---- steps ------------------------------------------------------------------------------------------------- */

void native_step_learn(struct native_step_memory *memory, uint64_t key, uint32_t to, uint32_t effect)
{
	memory->credit -= memory->consumer->again ? LEARN_COST_BITS : LEARN_COST;
	if (key && to && effect)
		*native_step_place(memory, key) = (struct native_step_entry){key, to, effect};
}

/* ---- as one of the caches ---------------------------------------------------------------------------------- */

static void close_step_memory(struct native_code *code)
{
	struct native_step_memory *memory = &code->steps;

	native_step_memory_clear(memory);
	native_pages_free(memory->table, NATIVE_STEP_ENTRIES * sizeof(*memory->table));
	common_number_table_free(&memory->context_numbers);
	common_number_table_free(&memory->state_numbers);
	free(memory->contexts);
	free(memory->states);
}

static void clear_step_memory(struct native_code *code)
{
	native_step_memory_clear(&code->steps);
}

/* Entries do not record their pages, because an entry depends on many regions. */
static void invalidate_step_memory(struct native_code *code, uint64_t pages)
{
	(void)pages;
	native_step_memory_clear(&code->steps);
}

const struct native_cache native_cache_steps = {
	.close = close_step_memory, .clear = clear_step_memory, .invalidate = invalidate_step_memory};
