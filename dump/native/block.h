/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks as the native engine keeps them: made once for each address, cut where an event demands it. */
#ifndef PTL_DUMP_NATIVE_BLOCK_H
#define PTL_DUMP_NATIVE_BLOCK_H

#include "dump/native/node.h"

struct native_block {
	struct ptl_block block; /* may have no instructions: see stop */
	struct native_block *chain;
	struct native_run alone; /* the block as a run of its own */
	const struct ptl_block *self;
	struct native_site *site; /* that it pushes as a near call; NULL: it is none */
	uint64_t paging; /* behind its first MOV to CR3; 0: it has none */
	bool whole;    /* from ip to the first branch; else a part */
	uint8_t stop;  /* whole and without a branch: why it ends, NATIVE_NO_CODE or NATIVE_BAD_CODE */
};

/* The whole block at ip; NULL without memory. */
struct native_block *native_block_get(struct native_code *code, uint64_t ip, unsigned mode);

static inline const struct native_block *native_block_of(const struct ptl_block *block)
{
	return (const struct native_block *)block;
}

#endif
