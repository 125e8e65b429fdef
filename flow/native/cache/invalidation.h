/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that may change, and the blocks and regions made from such code. When code changes, only these blocks and
 * regions are invalidated.
 *
 * Tracked code is code from code events, addresses without known code, and code that has changed before. All other code
 * is fixed: dependencies on fixed code are not recorded. If fixed code changes, all caches are cleared, and the changed
 * code is tracked from then on. Programs whose code never changes have no cost.
 *
 * An invalidated region becomes a stub: the stub stays in place, has no code, and leads to its own address. The region
 * is made again at the stub when flow comes to the address. So pointers from other regions, return sites, targets and
 * the decoder stay valid. An invalidated block is removed from the table. Other caches record the pages of each entry:
 * see page_bits.h.
 */
#ifndef FLOW_NATIVE_CACHE_INVALIDATION_H
#define FLOW_NATIVE_CACHE_INVALIDATION_H

#include "flow/native/cache/spans.h"

struct native_block;
struct native_code;
struct native_region;
struct flow_code_range;
struct flow_block_run;

/* State of the invalidation. Zero-initialised, no code is tracked. */
struct native_invalidation {
	struct native_spans fixed;         /* fixed code from which something was made */
	struct native_spans changed;       /* fixed code that has changed, and is tracked now */
	struct native_dependent **by_page; /* dependents of tracked code, by page; NULL: no dependents */
	bool range_tracked;                /* the last range found is tracked */
	bool tracked_read;                 /* a tracked range has been read since the flag was last cleared */
	bool incomplete;                   /* memory ran out: a change must clear all caches */
};

/* Records a range of code that will be decoded. */
void native_invalidation_range(struct native_invalidation *invalidation, const struct flow_code_range *range);

/* Record a block or region made from tracked code. native_invalidation_add_region sets the region's `pages`. */
void native_invalidation_add_block(struct native_code *code, struct native_block *block);
void native_invalidation_add_region(struct native_code *code, struct native_region *region);

/* Returns the pages of tracked code in the run's blocks: see native_page_bit. */
uint64_t native_invalidation_run_pages(const struct flow_block_run *run);

/* Checks whether the dependencies are insufficient for these changes: then all caches must be cleared. */
bool native_invalidation_needs_all(struct native_invalidation *invalidation, const struct flow_code_span *changes,
				   size_t count);
/* Invalidates the blocks and regions made from changed code. Returns whether any region was invalidated. */
bool native_invalidation_change(struct native_code *code, const struct flow_code_span *changes, size_t count);

#endif
