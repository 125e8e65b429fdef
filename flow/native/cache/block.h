/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks: made once for each address, and cut where an event comes within one. */
#ifndef FLOW_NATIVE_CACHE_BLOCK_H
#define FLOW_NATIVE_CACHE_BLOCK_H

#include "flow/native/cache/code.h"

/* Instructions that packets without an address refer to; a block may have some. */
#define NATIVE_WRITES_CR3 1u
#define NATIVE_SETS_VMCS 2u
#define NATIVE_PTWRITE 4u

struct native_block {
	struct flow_block block; /* may have no instructions: see stop */
	struct native_block *chain;
	struct native_run *alone;               /* the block as a run of its own; NULL: not needed yet */
	const struct flow_block *self;          /* what runs of this block alone point to */
	struct native_return_site *return_site; /* that it pushes as a near call; NULL: it is none */
	uint32_t paging;                        /* from its start to behind its first MOV to CR3; 0: it has none */
	bool whole;                             /* from ip to the first branch; else a part */
	bool tracked;                           /* made of tracked code: see invalidation.h */
	bool dead;                              /* invalidated */
	uint8_t notable; /* NATIVE_WRITES_CR3, ...: what the block, or the whole one that it is a part of, has */
	uint8_t stop; /* whole and without a branch: why it ends, NATIVE_NO_CODE, NATIVE_BAD_CODE or, as it is long, NATIVE_CONTINUE */
	uint8_t lengths[]; /* of the instructions of a whole block */
};

/* The whole block at ip; NULL without memory. */
struct native_block *native_block_get(struct native_code *code, uint64_t ip, unsigned mode);

/* A run of this block alone; NULL without memory. */
const struct native_run *native_block_alone(struct native_code *code, const struct flow_block *block);

/*
 * The part of block from `first` to before the instruction at `end` (end may be the block's own end). NULL without
 * memory, or where no instructions of the block start at these addresses.
 */
const struct flow_block *native_block_part(struct native_code *code, const struct flow_block *block, uint64_t first,
					   uint64_t end);

/* Removes the block from the table. */
void native_block_remove(struct native_code *code, struct native_block *block);

static inline const struct native_block *native_block_of(const struct flow_block *block)
{
	return (const struct native_block *)block;
}

#endif
