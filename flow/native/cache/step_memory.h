/* SPDX-License-Identifier: BSD-2-Clause */
/* Remembered steps: where TNT bits or a TIP lead from a state of flow and consumer, and the effect on the consumer. */
#ifndef FLOW_NATIVE_CACHE_STEP_MEMORY_H
#define FLOW_NATIVE_CACHE_STEP_MEMORY_H

#include "common/hash.h"
#include "common/number_table.h"
#include "flow/engine/step.h"

struct native_code;

#define NATIVE_STEP_BITS 16  /* maximum TNT bits in a step */
#define NATIVE_STEP_SHIFT 16 /* log2 of the entries */
#define NATIVE_STEP_ENTRIES ((size_t)1 << NATIVE_STEP_SHIFT)

/* The place of flow, and the return addresses of the calls. */
struct native_step_context {
	uint32_t here;  /* number of a counter */
	uint32_t under; /* context after the newest call returns; 0: no known call */
	uint32_t depth; /* number of calls */
};

/* A quarter of a cache line. */
struct native_step_entry {
	uint64_t key; /* see native_step_key; 0: free */
	uint32_t to;  /* number of the next state */
	uint32_t effect;
};

/* The memory. Zero-initialised, the memory is empty. */
struct native_step_memory {
	struct native_step_entry *table; /* native_pages; NULL: not needed yet */
	struct native_step_context *contexts;
	uint32_t context_count, context_capacity; /* counts include number 0, which is unused; also in state_count */
	struct native_step_state {
		uint32_t context;
		uint32_t consumer; /* number of the consumer's state */
	} * states;
	uint32_t state_count, state_capacity;
	struct common_number_table context_numbers, state_numbers;
	uint32_t generation;                     /* generation of the consumer's states */
	const struct flow_step_states *consumer; /* consumer of the states */
	bool full;                               /* the memory must be cleared */
	int64_t credit;                          /* worth of found steps minus the costs */
	int64_t pause;                           /* bytes still to be decoded without the memory */
	unsigned pauses;                         /* number of consecutive pauses */
};

/* Flag in `what`: the counter to which a TIP leads. Otherwise `what` has TNT bits below a stop bit. */
#define NATIVE_STEP_TIP (1u << 31)

/*
 * Returns the worth of a found step: 1, or, if the consumer repeats each effect itself, the number of bits that need
 * not be followed.
 */
static inline unsigned native_step_worth(const struct native_step_memory *memory, uint32_t what)
{
	if (!memory->consumer->again)
		return 1;
	return what & NATIVE_STEP_TIP ? 0 : 31 - (unsigned)__builtin_clz(what);
}

static inline uint64_t native_step_key(uint32_t state, uint32_t what)
{
	return (uint64_t)state << 32 | what;
}

static inline struct native_step_entry *native_step_place(const struct native_step_memory *memory, uint64_t key)
{
	return &memory->table[common_hash_high(key, NATIVE_STEP_SHIFT)];
}

/* Checks whether to remember steps of this consumer now. Forgets the steps of other consumers. */
bool native_step_memory_begin(struct native_step_memory *memory, const struct flow_step_states *consumer);
/* Ends the use of the memory after this number of bytes. */
void native_step_memory_end(struct native_step_memory *memory, uint64_t bytes);
/* Forgets all steps. */
void native_step_memory_clear(struct native_step_memory *memory);

/* Return the number of a context or of a state; 0: too many, or no memory. */
uint32_t native_step_context(struct native_step_memory *memory, uint32_t here, uint32_t under);
uint32_t native_step_state(struct native_step_memory *memory, uint32_t context, uint32_t consumer);

/* Remembers a step that was given, if the key, the next state and the effect are not 0. */
void native_step_learn(struct native_step_memory *memory, uint64_t key, uint32_t to, uint32_t effect);

#endif
