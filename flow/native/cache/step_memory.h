/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps that are remembered: where TNT bits, or a TIP, lead from a state of flow and of the consumer of steps, and the effect
 * that this has on the consumer.
 */
#ifndef FLOW_NATIVE_CACHE_STEP_MEMORY_H
#define FLOW_NATIVE_CACHE_STEP_MEMORY_H

#include "common/hash.h"
#include "common/number_table.h"
#include "flow/engine/step.h"

struct native_code;

#define NATIVE_STEP_BITS 16  /* TNT bits that are one step */
#define NATIVE_STEP_SHIFT 16 /* log2 of the entries */
#define NATIVE_STEP_ENTRIES ((size_t)1 << NATIVE_STEP_SHIFT)

/* Where flow is, and where each call returns to. */
struct native_step_context {
	uint32_t here;  /* a counter */
	uint32_t under; /* the context behind the newest call; 0: no call is known */
	uint32_t depth; /* calls */
};

/* A quarter of a cache line. */
struct native_step_entry {
	uint64_t key; /* see native_step_key; 0: free */
	uint32_t to;  /* state */
	uint32_t effect;
};

/* Zero-initialised is empty. */
struct native_step_memory {
	struct native_step_entry *table; /* native_pages; NULL: not needed yet */
	struct native_step_context *contexts;
	uint32_t context_count, context_capacity; /* with number 0, which is none; likewise: */
	struct native_step_state {
		uint32_t context;
		uint32_t consumer; /* the consumer's state */
	} * states;
	uint32_t state_count, state_capacity;
	struct common_number_table context_numbers, state_numbers;
	uint32_t generation;                     /* of the consumer's states */
	const struct flow_step_states *consumer; /* whose they are */
	bool full;                               /* it is to be cleared */
	int64_t credit;  /* what steps that were found are worth, but for what others have cost */
	int64_t pause;   /* bytes that are taken without it */
	unsigned pauses; /* one after the other */
};

/* What is asked for: bits below a stop bit, or a counter that a TIP leads to. */
#define NATIVE_STEP_TIP (1u << 31)

/*
 * What a step that is found is worth: one, or, where all it leads to has to be done as ever, as many as it has bits, which need
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

/* Whether steps of this consumer are to be remembered now; forgets those of others. */
bool native_step_memory_begin(struct native_step_memory *memory, const struct flow_step_states *consumer);
/* So many bytes were taken. */
void native_step_memory_end(struct native_step_memory *memory, uint64_t bytes);
/* Forgets all. */
void native_step_memory_clear(struct native_step_memory *memory);

/* The number of a context, or of a state; 0: there are too many, or there is no memory. */
uint32_t native_step_context(struct native_step_memory *memory, uint32_t here, uint32_t under);
uint32_t native_step_state(struct native_step_memory *memory, uint32_t context, uint32_t consumer);

/* A step had to be given. Remembers it where there is a key, a state that it led to, and an effect. */
void native_step_learn(struct native_step_memory *memory, uint64_t key, uint32_t to, uint32_t effect);

#endif
