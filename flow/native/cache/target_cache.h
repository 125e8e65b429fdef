/* SPDX-License-Identifier: BSD-2-Clause */
/* Targets of indirect branches: regions by the address of a TIP. */
#ifndef FLOW_NATIVE_CACHE_TARGET_CACHE_H
#define FLOW_NATIVE_CACHE_TARGET_CACHE_H

#include "common/hash.h"
#include "flow/native/cache/tnt_cache.h"

#define NATIVE_TARGET_SHIFT 12 /* log2 of the entries */
#define NATIVE_TARGETS (1u << NATIVE_TARGET_SHIFT)

struct native_target {
	uint64_t tag; /* see native_target_tag */
	uint64_t to;  /* as in native_tnt_entry */
};

struct native_target_cache {
	struct native_target *entries; /* direct-mapped by address */
};

/*
 * Returns the address combined with the mode. No address of 64-bit mode equals an address of another mode; 0 is no tag.
 */
static inline uint64_t native_target_tag(uint64_t ip, unsigned mode)
{
	return mode == 64 ? ip ^ 1ull << 56 : (ip & 0xffffffff) | (uint64_t)mode << 57;
}

/* Returns the place of the entry for ip. The place may hold another entry. */
static inline struct native_target *native_target_slot(const struct native_target_cache *targets, uint64_t ip)
{
	return &targets->entries[common_hash_high(ip, NATIVE_TARGET_SHIFT)];
}

static inline bool native_target_is(const struct native_target *target, uint64_t ip, unsigned mode)
{
	return target->tag == native_target_tag(ip, mode);
}

#endif
