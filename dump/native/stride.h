/* SPDX-License-Identifier: BSD-2-Clause */
/* What eight TNT bits add up to, and where they lead: for views that only count. */
#ifndef PTL_DUMP_NATIVE_STRIDE_H
#define PTL_DUMP_NATIVE_STRIDE_H

#include "dump/native/node.h"

/*
 * A state is a node, or a node some of whose calls have been pushed already. Its id is 32 bits that no other state
 * has, well mixed, so that the low bits serve as the place of its entries in the table.
 */
#define NATIVE_STATE_NONE 0u /* flow is in no state that strides can go on from */

#define NATIVE_STRIDE_BITS 8
#define NATIVE_STRIDE_SHIFT 15 /* log2 of the table's entries */
/* Steps after which the sums of entries must still fit their fields. */
#define NATIVE_STRIDE_STEPS 7

/*
 * What the next eight bits do in a state. Several fit a cache line, as the time of a step is that of the load.
 * `sums`: from bit 0 on 6 bits: how many TNT bits are consumed; 9: blocks; 15: instructions; 2: what it does to the
 * return stack as a signed number: pushes one address, pops one, or nothing.
 */
struct native_stride {
	uint32_t from; /* state; with its place in the table that gives the bits too */
	uint32_t to;   /* state; 0 where it ends with a return to what is on the stack */
	uint32_t push; /* the state at the return address; 0: none */
	int32_t sums;
};

#define NATIVE_STRIDE_USED(sums) ((sums) & 63)
#define NATIVE_STRIDE_BLOCKS(sums) ((sums) >> 6 & 511)
#define NATIVE_STRIDE_INSTRUCTIONS(sums) ((sums) >> 15 & 32767)

struct native_state {
	struct native_node *node;
	uint32_t pushed; /* so many of the node's calls are on the stack */
	uint32_t deeper; /* the state with one more; 0: not made yet */
};

struct native_strides {
	struct native_stride *table; /* direct-mapped */
	struct native_state *states; /* by native_state_index */
	uint32_t state_count;
	uint32_t state_capacity;
	bool no_memory;
};

/* Makes code->strides. PTL_NO_MEMORY. */
int native_strides_open(struct native_code *code);
void native_strides_close(struct native_strides *strides);
void native_strides_forget(struct native_strides *strides);

/* Whether there are so many states that they should be forgotten; then also none can be added. */
bool native_strides_full(const struct native_strides *strides);

/* The node's state; 0 without memory. */
uint32_t native_state_get(struct native_strides *strides, struct native_node *node);

/* The entry for the state and the highest of the bits, made anew: an empty one where it cannot be made. */
const struct native_stride *native_stride_make(struct native_code *code, uint32_t state, uint64_t bits);

/* Works out what up to 8 bits do in a state; false: the bits or the state are none that strides can tell of. */
bool native_stride_walk(struct native_code *code, uint32_t state, uint32_t bits, unsigned count,
			struct native_stride *made);

/* Numbers of states count from 0; an odd factor keeps ids apart and never gives 0. */
#define NATIVE_STATE_FACTOR 0x9e3779b1u
#define NATIVE_STATE_INVERSE 0xe8b2f51u

static inline uint32_t native_state_index(uint32_t state)
{
	return state * NATIVE_STATE_INVERSE - 1;
}

static inline struct native_state *native_state_of(const struct native_strides *strides, uint32_t state)
{
	return &strides->states[native_state_index(state)];
}

/* The place of the entry for the state and the highest bits of `bits`: a byte offset, so that no scaling is needed. */
static inline const struct native_stride *native_stride_at(const struct native_stride *table, uint32_t state,
							   uint64_t bits)
{
	size_t offset = ((uint32_t)(bits >> (64 - NATIVE_STRIDE_BITS - 4)) ^ state) &
			(((1u << NATIVE_STRIDE_SHIFT) - 1) << 4);

	_Static_assert(sizeof(*table) == 1 << 4, "the offset is of entries");
	return (const struct native_stride *)((const char *)table + offset);
}

#endif
