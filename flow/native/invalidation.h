/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that may change, and what was made of it. Where it changes, only that is forgotten.
 *
 * Watched is code that code events gave, where no code is known, and where code was found to change before. All other
 * code is fixed: nothing is kept about what was made of it, and everything is forgotten if it does change, after which it
 * is tracked. So programs whose code stays pay nothing.
 *
 * A region that is forgotten stays where it is, as a stub without code that leads to its own address, and is made anew there
 * when flow comes to it. So regions, return_sites, targets and the decoder's own place may go on pointing to it. Blocks that are
 * forgotten are only found no more. Entries of tables (ways, words) tell by one bit a page, of 64, what they are made of.
 */
#ifndef FLOW_NATIVE_INVALIDATION_H
#define FLOW_NATIVE_INVALIDATION_H

#include "flow/native/spans.h"

struct native_block;
struct native_code;
struct native_region;
struct flow_code_range;
struct flow_block_run;

/* Zero-initialised: nothing is tracked yet. */
struct native_invalidation {
	struct native_spans fixed;   /* where code is that is not tracked, if anything was made of it */
	struct native_spans changed; /* where such code has changed: tracked now */
	struct native_dependent *
		*made; /* blocks and regions of tracked code, in a table by page; NULL: there are none */
	/*
	 * Of each entry of the tables: the pages that it was made of; NULL: of none that is tracked. Behind them for each 64
	 * entries: at least those of all of them.
	 */
	uint64_t *tnt_cache;
	uint64_t *packet_words;
	bool range; /* the last range found is tracked */
	bool met;   /* such a range has been read since this was last set to false */
	bool lost;  /* no memory to tell what depends on what: all has to be forgotten */
};

/* The bit of the page that ip lies in. */
static inline uint64_t native_page_bit(uint64_t ip)
{
	return 1ull << ((ip >> 12) * 0x9e3779b97f4a7c15ull >> 58);
}

/* A range of code was found, and something will be made of it. */
void native_invalidation_range(struct native_invalidation *invalidation, const struct flow_code_range *range);

/* The block, or region, was made of tracked code. A region's `pages` are set. */
void native_invalidation_add_block(struct native_code *code, struct native_block *block);
void native_invalidation_add_region(struct native_code *code, struct native_region *region);

/* The pages of tracked code that the run's blocks are made of: see native_page_bit. */
uint64_t native_invalidation_run_pages(const struct flow_block_run *run);

#define NATIVE_INVALIDATION_GROUP 64

/* Makes such a table; without memory it stays NULL. */
void native_invalidation_open_table(struct native_invalidation *invalidation, uint64_t **table, size_t size);

/* The entry at `place` of a table with `size` entries was made of these pages; 0: of none that is tracked. */
static inline void native_invalidation_add_entry(struct native_invalidation *invalidation, uint64_t **table,
						 size_t size, size_t place, uint64_t pages)
{
	if (__builtin_expect(!pages && !*table, 1))
		return;
	if (!*table)
		native_invalidation_open_table(invalidation, table, size);
	if (*table) {
		(*table)[place] = pages;
		(*table)[size + place / NATIVE_INVALIDATION_GROUP] |= pages;
	}
}

/*
 * The code is another in these spans, and the source tells of the new one. True: all was forgotten, see native_code_forget;
 * else all regions stay where they are. Nothing that was not yet given out may point to runs.
 */
bool native_code_change(struct native_code *code, const struct flow_code_span *changes, size_t count);

/* All is forgotten, but not what has been found to change. */
void native_invalidation_forget(struct native_invalidation *invalidation);
void native_invalidation_free(struct native_invalidation *invalidation);

#endif
