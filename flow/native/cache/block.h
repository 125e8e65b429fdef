/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks: made once for each address, and split if an event comes within a block. */
#ifndef FLOW_NATIVE_CACHE_BLOCK_H
#define FLOW_NATIVE_CACHE_BLOCK_H

#include "flow/native/cache/code.h"

/* Bits for instructions to which packets without an address refer. */
#define NATIVE_WRITES_CR3 1u
#define NATIVE_SETS_VMCS 2u
#define NATIVE_PTWRITE 4u

struct native_block {
	struct flow_block block; /* may have no instructions: see stop */
	struct native_block *chain;
	struct native_run *alone;      /* run of only this block; NULL: not needed yet */
	const struct flow_block *self; /* pointer to this block: the `blocks` array of runs of only this block */
	/* return address that the block pushes as a near call; NULL: no near call */
	struct native_return_site *return_site;
	/* bytes from the block's start to the end of its first MOV to CR3; 0: no MOV to CR3 */
	uint32_t paging;
	bool whole;      /* from ip to the first branch; false: a part of a block */
	bool tracked;    /* made from tracked code: see invalidation.h */
	bool dead;       /* invalidated */
	uint8_t notable; /* NATIVE_WRITES_CR3, ...: instructions in the block, or in the whole block of a part */
	/*
	 * reason for the end of a whole block without a branch: NATIVE_NO_CODE, NATIVE_BAD_CODE, or NATIVE_CONTINUE for
	 * a long block
	 */
	uint8_t stop;
	uint8_t lengths[]; /* lengths of a whole block's instructions */
};

/* Returns the whole block at ip. NULL without memory. */
struct native_block *native_block_get(struct native_code *code, uint64_t ip, unsigned mode);

/* Returns a run of only this block. NULL without memory. */
const struct native_run *native_block_alone(struct native_code *code, const struct flow_block *block);

/*
 * Returns the part of a block from `first` to before the instruction at `end`, which may be the block's end. NULL
 * without memory, or if no instructions of the block start at these addresses.
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
