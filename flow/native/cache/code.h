/* SPDX-License-Identifier: BSD-2-Clause */
/* All code of an address space in one version, and all data made from this code. */
#ifndef FLOW_NATIVE_CACHE_CODE_H
#define FLOW_NATIVE_CACHE_CODE_H

#include "flow/code/range.h"
#include "flow/native/cache/arena.h"
#include "flow/native/cache/counter.h"
#include "flow/native/cache/invalidation.h"
#include "flow/native/cache/packet_word.h"
#include "flow/native/cache/region.h"
#include "flow/native/cache/stretch.h"
#include "flow/native/cache/target_cache.h"
#include "flow/native/cache/tnt16.h"
#include "flow/native/cache/tnt_cache.h"

struct native_source {
	/* Finds the range that contains ip, or the hole around ip. */
	void (*find)(void *context, uint64_t ip, struct flow_code_range *range);
	void *context;
	/* Checks whether the address filters let packets from ip pass. NULL: no filters, or unknown filters. */
	bool (*passes)(void *context, uint64_t ip);
};

/* All blocks of a code, by address. */
struct native_block_table {
	struct native_block **slots; /* hash table with chains */
	size_t slot_count;           /* a power of two */
	size_t count;
	uint8_t *lengths; /* instruction lengths of the block being made */
	size_t length_capacity;
};

struct native_code {
	struct native_source source;
	struct flow_code_range range; /* last range found */
	struct native_arena arena;    /* blocks, regions, and their runs and return sites, which are cleared together */
	struct native_arena retired;  /* cleared memory that batches of the current segment still use */
	uint64_t generation;          /* changes when a pointer to a run may become another run */
	struct native_shared *shared; /* memory shared with other codes: shared.h; NULL: none */
	struct native_shared *retired_shared; /* as `retired`; NULL: none */
	void *tables;                         /* native_pages: first memory of the caches */

	/* Caches: see cache.h. */
	struct native_block_table blocks;
	struct native_region_table regions;
	struct native_target_cache targets;
	struct native_tnt_cache tnt_cache;
	struct native_tnt16 tnt16;
	struct native_counters counters;
	struct native_stretches stretches;
	struct native_packet_words packet_words;
	struct native_invalidation invalidation;
};

/* Maximum bytes of blocks, regions and runs. Above the limit, all caches are cleared before the next segment. */
#define NATIVE_CODE_LIMIT (128u << 20)

/* Opens all caches. Returns PTL_NO_MEMORY. */
int native_code_open(struct native_code *code, struct native_source source);
void native_code_close(struct native_code *code);
/*
 * Clears all caches, because the code may have changed. Pointers to blocks, regions and runs stay valid until
 * native_code_trim.
 */
void native_code_clear(struct native_code *code);
/*
 * Handles changed code; the source already gives the new code. Returns true if all caches were cleared: see
 * native_code_clear. Otherwise all regions stay in place. No run may wait to be added to a batch.
 */
bool native_code_change(struct native_code *code, const struct flow_code_span *changes, size_t count);
/* Frees cleared memory, and clears large caches. Called between segments. */
void native_code_trim(struct native_code *code);
/* Returns the bytes of blocks, regions and runs. */
size_t native_code_size(const struct native_code *code);

/* Frees a table of regions or blocks after growing. */
void native_code_free_table(const struct native_code *code, void *table, size_t slot_count);

/* As native_region_get, through the cache of targets. */
static inline struct native_region *native_target_get(struct native_code *code, uint64_t ip, unsigned mode)
{
	struct native_target *target = native_target_slot(&code->targets, ip);
	struct native_region *region;

	if (__builtin_expect(native_target_is(target, ip, mode), 1))
		return native_to_region(target->to);
	region = native_region_get(code, ip, mode);
	if (region)
		*target = (struct native_target){.tag = native_target_tag(ip, mode), .to = native_to(region)};
	return region;
}

#endif
