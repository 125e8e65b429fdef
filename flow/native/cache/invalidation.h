/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that may change, and the blocks and regions that are made of it: where it changes, only these are invalidated.
 *
 * Tracked is code that code events gave, addresses without known code, and code that has changed before. All other code is
 * fixed: no dependency is kept for it. If it does change, all caches are cleared, and it is tracked from then on. So
 * programs whose code stays the same have no cost.
 *
 * An invalidated region stays in place as a stub without code that leads to its own address, and is made again there when
 * flow comes to it. So pointers to it stay valid: of other regions, return sites, targets and the decoder. An invalidated
 * block is only not found any more. Other caches keep the pages that each entry depends on: see page_bits.h.
 */
#ifndef FLOW_NATIVE_CACHE_INVALIDATION_H
#define FLOW_NATIVE_CACHE_INVALIDATION_H

#include "flow/native/cache/spans.h"

struct native_block;
struct native_code;
struct native_region;
struct flow_code_range;
struct flow_block_run;

/* Zero-initialised: nothing is tracked yet. */
struct native_invalidation {
	struct native_spans fixed;         /* code that is not tracked, if anything was made of it */
	struct native_spans changed;       /* code that was fixed and has changed: it is tracked now */
	struct native_dependent **by_page; /* blocks and regions of tracked code; NULL: there are none */
	bool range_tracked;                /* the last range found is tracked */
	bool tracked_read;                 /* such a range has been read since this was last set to false */
	bool incomplete;                   /* memory ran out: only clearing all caches invalidates everything */
};

/* A range of code was found, and something will be made of it. */
void native_invalidation_range(struct native_invalidation *invalidation, const struct flow_code_range *range);

/* The block, or region, is made of tracked code. Sets the `pages` of a region. */
void native_invalidation_add_block(struct native_code *code, struct native_block *block);
void native_invalidation_add_region(struct native_code *code, struct native_region *region);

/* The pages of tracked code that the blocks of the run are made of: see native_page_bit. */
uint64_t native_invalidation_run_pages(const struct flow_block_run *run);

/* Whether dependencies do not suffice for these changes: all caches have to be cleared. */
bool native_invalidation_needs_all(struct native_invalidation *invalidation, const struct flow_code_span *changes,
				   size_t count);
/* Otherwise: invalidates the blocks and regions that are made of what has changed. Whether there were regions. */
bool native_invalidation_change(struct native_code *code, const struct flow_code_span *changes, size_t count);

#endif
