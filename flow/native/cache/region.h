/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions of code: all instructions from an address to the first place where a packet decides. */
#ifndef FLOW_NATIVE_CACHE_REGION_H
#define FLOW_NATIVE_CACHE_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"
#include "flow/engine/flow.h"

struct native_code;
struct native_region;

/* The packet that decides at the end of a region. */
enum native_decision {
	NATIVE_CONDITIONAL, /* a TNT bit */
	NATIVE_INDIRECT,    /* a TIP: indirect jump or call */
	NATIVE_RETURN,      /* a TNT bit with return compression, otherwise a TIP */
	NATIVE_FAR,         /* a TIP, or a TIP.PGD if the target is not traced */
	NATIVE_CONTINUE,    /* no packet: the region or its last block is too long, or the region is a stub */
	NATIVE_NO_CODE,     /* the bytes at stop_ip are not in the trace */
	NATIVE_BAD_CODE,    /* the bytes at stop_ip are no instruction */
};

/* A return address pushed by a near call, and the region at the address, once known. */
struct native_return_site {
	uint64_t ip;
	struct native_region *region;
};

/*
 * A run of blocks in a batch, and its effect on the return stack: pops `pops` addresses, then pushes the return
 * addresses of the run's near calls, oldest first. When a return needs the stack, the stack is computed from the
 * batch's runs.
 */
struct native_run {
	struct flow_block_run run;
	struct native_return_site *const *pushes;
	uint32_t push_count;
	uint16_t pops;
	bool returns; /* the run ends with a near return, whose address is not popped yet */
};

/*
 * All code from an address to the first place where a packet decides. Direct jumps and calls are followed. Only the
 * links of a region change. A region has two cache lines; following TNT bits needs only the first line.
 */
struct native_region {
	struct native_run run;
	struct native_region *next[2]; /* CONDITIONAL: not taken, taken; CONTINUE: [0]; NULL: not made yet */
	uint32_t counter;              /* number of the region's counter; 0: no counter */
	uint8_t decision;              /* enum native_decision */
	uint8_t mode;
	bool stub;    /* invalidated: has no blocks, leads to itself, and is made again when flow follows this link */
	bool tracked; /* `pages` is set */

	struct native_return_site here; /* the region's address, also as a return site */
	uint64_t out_ip;                /* target of the last TIP.PGD at the region's end */
	/* address at which flow returns, if nothing is missing in between: see native_resume_ip */
	uint64_t out_resume;
	struct native_region *chain; /* next region in the slot of the table */
	uint64_t stop_ip;
	uint64_t pages;         /* pages of tracked code in the region: see native_page_bit */
	uint32_t invalidations; /* number of invalidations */
	bool out_known;         /* out_ip is known, and left the region at the region's end */
	uint8_t notable;        /* union of the blocks' `notable`: see block.h */
	bool shared;            /* several codes use the region, so that nothing may change: see shared.h */
};

#define NATIVE_LINE 64 /* bytes of a cache line */

_Static_assert(sizeof(struct native_region) == 2 * NATIVE_LINE && offsetof(struct native_region, here) == NATIVE_LINE,
	       "two cache lines");

/* Returns the region's pages. */
static inline uint64_t native_region_pages(const struct native_region *region)
{
	return __builtin_expect(region->tracked, 0) ? region->pages : 0;
}

/* Maximum number of blocks in a region, so that endless loops of direct jumps end. */
#define NATIVE_REGION_BLOCKS 64
/* A region ends behind the block that reaches this number of instructions. */
#define NATIVE_REGION_INSTRUCTIONS (1u << 20)
/* Maximum number of instructions in a run. The last block of a region may be longer than all other blocks together. */
#define NATIVE_RUN_INSTRUCTIONS (1u << 22)

/* All regions of a code, by address. */
struct native_region_table {
	struct native_region **slots; /* hash table with chains */
	size_t slot_count;            /* a power of two */
	size_t count;
	struct native_region *spare; /* memory for the next regions */
	size_t spare_count;
};

/* Returns the slot of an address in a table of blocks or regions. slot_count is a power of two. */
static inline size_t native_slot(uint64_t ip, size_t slot_count)
{
	return (size_t)(common_hash_mix(ip) >> 20) & (slot_count - 1);
}

/* Returns the region at ip. NULL without memory. The region may be empty, with the decision NO_CODE. */
struct native_region *native_region_get(struct native_code *code, uint64_t ip, unsigned mode);

/* Finds the result of native_region_follow, and stores the link unless the region is a stub. */
struct native_region *native_region_link(struct native_code *code, struct native_region *region, unsigned taken);

/* Slow path of native_return_site_follow. */
struct native_region *native_return_site_link(struct native_code *code, struct native_return_site *site, unsigned mode);

/* Makes the region a stub, because its code has changed. */
void native_region_invalidate(struct native_region *region);

/*
 * Returns the region behind a CONDITIONAL or CONTINUE (taken: 0). NULL without memory. A stub is followed by itself,
 * made again.
 */
static inline struct native_region *native_region_follow(struct native_code *code, struct native_region *region,
							 unsigned taken)
{
	if (__builtin_expect(!region->next[taken], 0))
		return native_region_link(code, region, taken);
	return region->next[taken];
}

/* Returns the region at a return site. NULL without memory. */
static inline struct native_region *native_return_site_follow(struct native_code *code, struct native_return_site *site,
							      unsigned mode)
{
	if (__builtin_expect(!site->region || site->region->mode != mode, 0))
		return native_return_site_link(code, site, mode);
	return site->region;
}

#endif
