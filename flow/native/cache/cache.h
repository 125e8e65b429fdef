/* SPDX-License-Identifier: BSD-2-Clause */
/* Interface of all caches of code: operations to close, clear and invalidate a cache. */
#ifndef FLOW_NATIVE_CACHE_CACHE_H
#define FLOW_NATIVE_CACHE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct native_code;

/*
 * A cache of data made from code. Each cache is a member of struct native_code, and has a row in the table of code.c.
 * An operation that the cache does not need is NULL.
 */
struct native_cache {
	void (*close)(struct native_code *code);
	/*
	 * Empties the cache, because all code may be different. Memory that batches may point to is moved to
	 * code->retired.
	 */
	void (*clear)(struct native_code *code);
	/* Removes the entries that depend on code in these pages: see native_page_bit. The code has changed. */
	void (*invalidate)(struct native_code *code, uint64_t pages);
	/* Returns the bytes of growing memory. */
	size_t (*size)(const struct native_code *code);
	/* Checks whether the cache is full, and must be cleared between segments. */
	bool (*is_full)(const struct native_code *code);
};

extern const struct native_cache native_cache_regions;
extern const struct native_cache native_cache_blocks;
extern const struct native_cache native_cache_targets;
extern const struct native_cache native_cache_tnt;
extern const struct native_cache native_cache_tnt16;
extern const struct native_cache native_cache_counters;
extern const struct native_cache native_cache_stretches;
extern const struct native_cache native_cache_packet_words;
extern const struct native_cache native_cache_invalidation;

#endif
