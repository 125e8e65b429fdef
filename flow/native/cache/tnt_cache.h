/* SPDX-License-Identifier: BSD-2-Clause */
/* The result of up to seven TNT bits from a region: computed once, then found by one load. */
#ifndef FLOW_NATIVE_CACHE_TNT_CACHE_H
#define FLOW_NATIVE_CACHE_TNT_CACHE_H

#include "common/hash.h"
#include "flow/native/cache/arena.h"
#include "flow/native/cache/page_bits.h"
#include "flow/native/cache/region.h"

#define NATIVE_TNT_CACHE_SHIFT 14 /* log2 of the entries */
#define NATIVE_TNT_CACHE_ENTRIES (1u << NATIVE_TNT_CACHE_SHIFT)
#define NATIVE_TNT_BITS 7

/*
 * The result of up to 7 TNT bits from a region. A run has only conditional branches, and returns from calls of the same
 * run. The entry has half a cache line: addresses of user space have 47 bits, so pointers have room for more data.
 */
struct native_tnt_entry {
	/* the region, as in `to`; + 1 if some bits were not consumed. The entry's index gives the bits */
	uint64_t from;
	uint64_t to; /* next region, and the index of its entries << 48: see native_tnt_cache_base */
	/*
	 * address of the run, and number of consumed bits << 56; another decision may come before all bits are consumed
	 */
	uint64_t run;
	uint32_t instructions; /* sums of the run: */
	uint16_t blocks;
	uint16_t branches;
};

struct native_tnt_cache {
	struct native_tnt_entry *entries; /* direct-mapped */
	struct native_arena runs;
	struct native_page_bits made_of;
};

#define NATIVE_POINTER_MASK 0xffffffffffffull

static inline struct native_region *native_to_region(uint64_t to)
{
	return (struct native_region *)(uintptr_t)(to & NATIVE_POINTER_MASK);
}

/* Returns the index that, combined with a key, gives the region's entry for the key. */
static inline uint32_t native_tnt_cache_base(const struct native_region *region)
{
	return (uint32_t)common_hash_high((uintptr_t)region >> 4, NATIVE_TNT_CACHE_SHIFT);
}

/* Returns the region combined with its index, to save computing the index. */
static inline uint64_t native_to(const struct native_region *region)
{
	return (uint64_t)(uintptr_t)region | (uint64_t)native_tnt_cache_base(region) << 48;
}

/* Returns the place of the entry for the region and key. The place may hold another entry. */
static inline struct native_tnt_entry *native_tnt_cache_slot(const struct native_tnt_cache *cache,
							     const struct native_region *region, uint32_t key)
{
	/* The entries of a region lie close together, so that the few used entries share cache lines. */
	return &cache->entries[native_tnt_cache_base(region) ^ key];
}

static inline const struct native_run *native_tnt_entry_run(const struct native_tnt_entry *entry)
{
	return (const struct native_run *)(uintptr_t)(entry->run & NATIVE_POINTER_MASK);
}

static inline unsigned native_tnt_entry_used(const struct native_tnt_entry *entry)
{
	return (unsigned)(entry->run >> 56);
}

static inline bool native_tnt_entry_is(const struct native_tnt_entry *entry, const struct native_region *region)
{
	return (entry->from & ~1ull) == native_to(region);
}

/* Checks whether the entry is for the region, and has consumed all bits. */
static inline bool native_tnt_entry_is_whole(const struct native_tnt_entry *entry, uint64_t to)
{
	return entry->from == to;
}

/*
 * Follows the key (1 to 7 bits below a stop bit) from the region, and adds an entry. Returns NULL without memory. Does
 * not limit the memory of runs: callers first check native_tnt_cache_full.
 */
const struct native_tnt_entry *native_tnt_cache_add(struct native_code *code, struct native_region *region,
						    uint32_t key);

/* Checks whether the memory of runs is so large that the cache should be cleared. */
bool native_tnt_cache_full(const struct native_tnt_cache *cache);
/* Removes all entries, and frees the runs. No batch may point to the runs. */
void native_tnt_cache_clear(struct native_tnt_cache *cache);

#endif
