/* SPDX-License-Identifier: BSD-2-Clause */
/* What up to seven TNT bits lead to from a region: computed once, then found by one load. */
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
 * What (region, up to 7 TNT bits) leads to. Only conditional branches, and returns from calls of the same run, are in a run.
 * Half a cache line: addresses of user space have 47 bits, so that a pointer has room for more.
 */
struct native_tnt_entry {
	uint64_t from; /* as `to`, of the region; + 1 where not all bits are consumed. The place gives the bits */
	uint64_t to;   /* the region, and where its own entries are << 48: see native_tnt_cache_base */
	uint64_t run;  /* its address, and << 56 the bits consumed: fewer than asked for before another decision */
	uint32_t instructions; /* of the run, as the next two: */
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

/* The index in the table that, with a key, gives the entry of the region for that key. */
static inline uint32_t native_tnt_cache_base(const struct native_region *region)
{
	return (uint32_t)common_hash_high((uintptr_t)region >> 4, NATIVE_TNT_CACHE_SHIFT);
}

/* The region with its index, which need not be computed then. */
static inline uint64_t native_to(const struct native_region *region)
{
	return (uint64_t)(uintptr_t)region | (uint64_t)native_tnt_cache_base(region) << 48;
}

/* The place of the entry for the region and key, whatever it holds now. */
static inline struct native_tnt_entry *native_tnt_cache_slot(const struct native_tnt_cache *cache,
							     const struct native_region *region, uint32_t key)
{
	/* The entries of one region lie near each other: fewer cache lines for the few that are used. */
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

/* Whether it is the entry for all of the bits. */
static inline bool native_tnt_entry_is_whole(const struct native_tnt_entry *entry, uint64_t to)
{
	return entry->from == to;
}

/*
 * Follows the key (1 to 7 bits below a stop bit) from the region and adds an entry for it. NULL without memory. Does not
 * limit the memory of runs: callers ask native_tnt_cache_full before.
 */
const struct native_tnt_entry *native_tnt_cache_add(struct native_code *code, struct native_region *region,
						    uint32_t key);

/* Whether runs take so much memory that all should be cleared. */
bool native_tnt_cache_full(const struct native_tnt_cache *cache);
/* Removes all entries and frees the runs, which no batch may point to. */
void native_tnt_cache_clear(struct native_tnt_cache *cache);

#endif
