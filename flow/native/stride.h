/* SPDX-License-Identifier: BSD-2-Clause */
/* What nine TNT bits add up to, and where they lead: for views that only count. */
#ifndef FLOW_NATIVE_STRIDE_H
#define FLOW_NATIVE_STRIDE_H

#include "flow/native/node.h"

#define NATIVE_STRIDE_USED(sums) ((sums)&63)
#define NATIVE_STRIDE_BLOCKS(sums) ((sums) >> 6 & 511)
#define NATIVE_STRIDE_INSTRUCTIONS(sums) ((sums) >> 15 & 32767)

/* Makes the table where there is none yet. False without memory. */
bool native_strides_open(struct native_strides *strides);
void native_strides_close(struct native_strides *strides);
void native_strides_forget(struct native_strides *strides);

/* Whether there are so many states that they should be forgotten; then also none can be added. */
bool native_strides_full(const struct native_strides *strides);

/* The node's state; 0 without memory. */
uint32_t native_state_get(struct native_strides *strides, struct native_node *node);

/* The entry for the state and the highest of the bits, made anew: an empty one where it cannot be made. */
const struct native_stride *native_stride_make(struct native_code *code, uint32_t state, uint64_t bits);

/* Works out what up to NATIVE_STRIDE_BITS bits do in a state; false: the bits or the state are none that strides can tell of. */
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
