/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions of code: all that is executed from an address to the first place where a packet decides how flow goes on. */
#ifndef FLOW_NATIVE_CACHE_REGION_H
#define FLOW_NATIVE_CACHE_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"
#include "flow/engine/flow.h"

struct native_code;
struct native_region;

/* What a packet decides at the end of a region. */
enum native_decision {
	NATIVE_CONDITIONAL, /* a TNT bit */
	NATIVE_INDIRECT,    /* a TIP: indirect jump or call */
	NATIVE_RETURN,      /* a TNT bit with return compression, else a TIP */
	NATIVE_FAR,         /* a TIP, or a TIP.PGD where it leads out of what is traced */
	NATIVE_CONTINUE,    /* nothing: the region or its last block is long, or it is a stub */
	NATIVE_NO_CODE,     /* the bytes at stop_ip are not in the trace */
	NATIVE_BAD_CODE,    /* the bytes at stop_ip are no instruction */
};

/* A return address that a near call pushes, with the region there once it is known. */
struct native_return_site {
	uint64_t ip;
	struct native_region *region;
};

/*
 * A run of blocks in a batch, and its effect on the return stack: takes `pops` addresses off, then pushes those of its near
 * calls, oldest first. The return stack is computed from the runs of the batch when a return needs it.
 */
struct native_run {
	struct flow_block_run run;
	struct native_return_site *const *pushes;
	uint32_t push_count;
	uint16_t pops;
	bool returns; /* it ends with a near return, whose address has not been taken off yet */
};

/*
 * All code from an address to the first place where a packet decides what comes next: direct jumps and
 * calls are followed. Only the links of a region change. It takes two cache lines, of which following TNT bits needs only the
 * first.
 */
struct native_region {
	struct native_run run;
	struct native_region *next[2]; /* of CONDITIONAL: not taken, taken; of CONTINUE: [0]; NULL: not made yet */
	uint32_t counter;              /* number of its counter; 0: none */
	uint8_t decision;              /* enum native_decision */
	uint8_t mode;
	bool stub;    /* invalidated: has no blocks, leads to itself, and is made again when that link is followed */
	bool tracked; /* it has pages */

	struct native_return_site here; /* its address, also as one to return to */
	uint64_t out_ip;                /* the last TIP.PGD here led to this address, */
	uint64_t out_resume;         /* from which flow comes back here if nothing is missing: see native_resume_ip */
	struct native_region *chain; /* in the table */
	uint64_t stop_ip;
	uint64_t pages;         /* of tracked code that it is made of: see native_page_bit */
	uint32_t invalidations; /* how often it became a stub */
	bool out_known;         /* out_ip is known: it left the region at its end */
	uint8_t notable;        /* of all blocks: see block.h */
};

#define NATIVE_LINE 64 /* bytes of a cache line */

_Static_assert(sizeof(struct native_region) == 2 * NATIVE_LINE && offsetof(struct native_region, here) == NATIVE_LINE,
	       "two cache lines");

/* Its pages. */
static inline uint64_t native_region_pages(const struct native_region *region)
{
	return __builtin_expect(region->tracked, 0) ? region->pages : 0;
}

/* The longest chain of blocks in one region, so that endless loops of direct jumps end. */
#define NATIVE_REGION_BLOCKS 64
/* A region ends behind the block that reaches this number. */
#define NATIVE_REGION_INSTRUCTIONS (1u << 20)
/* The most that a run adds up to: the last block of a region may be as long as the others together, and more. */
#define NATIVE_RUN_INSTRUCTIONS (1u << 22)

/* All regions of a code, by address. */
struct native_region_table {
	struct native_region **slots; /* a hash table with chains */
	size_t slot_count;            /* a power of two */
	size_t count;
	struct native_region *spare; /* memory for the next ones */
	size_t spare_count;
};

/* The slot of an address in a table of blocks or regions; slot_count is a power of two. */
static inline size_t native_slot(uint64_t ip, size_t slot_count)
{
	return (size_t)(common_hash_mix(ip) >> 20) & (slot_count - 1);
}

/* The region at ip; NULL without memory. It may be empty, with the decision NO_CODE. */
struct native_region *native_region_get(struct native_code *code, uint64_t ip, unsigned mode);

/* Finds what native_region_follow gives, and keeps the link unless the region is a stub. */
struct native_region *native_region_link(struct native_code *code, struct native_region *region, unsigned taken);

/* Makes the region a stub: some of its code has changed. */
void native_region_invalidate(struct native_region *region);

/*
 * The region behind a CONDITIONAL or CONTINUE (taken: 0); NULL without memory. That behind a stub is the stub itself, made
 * again.
 */
static inline struct native_region *native_region_follow(struct native_code *code, struct native_region *region,
							 unsigned taken)
{
	if (__builtin_expect(!region->next[taken], 0))
		return native_region_link(code, region, taken);
	return region->next[taken];
}

/* The region at a return site; NULL without memory. */
static inline struct native_region *native_return_site_follow(struct native_code *code, struct native_return_site *site,
							      unsigned mode)
{
	if (__builtin_expect(!site->region || site->region->mode != mode, 0))
		site->region = native_region_get(code, site->ip, mode);
	return site->region;
}

#endif
