/* SPDX-License-Identifier: BSD-2-Clause */
/* What all caches of code have in common: how each is closed, cleared, and invalidated where code changes. */
#ifndef FLOW_NATIVE_CACHE_CACHE_H
#define FLOW_NATIVE_CACHE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct native_code;

/*
 * A cache of something that is made of code. It is a member of struct native_code, and has a row in the table of code.c. An
 * operation that it does not need is NULL.
 */
struct native_cache {
	void (*close)(struct native_code *code);
	/* All code may be different: nothing is found any more. Memory that batches may point to goes to code->retired. */
	void (*clear)(struct native_code *code);
	/* Code in these pages has changed, see native_page_bit: no entry that depends on it is found any more. */
	void (*invalidate)(struct native_code *code, uint64_t pages);
	/* Bytes of memory that grows. */
	size_t (*size)(const struct native_code *code);
	/* Whether it has no room for more, and is to be cleared between segments. */
	bool (*is_full)(const struct native_code *code);
};

extern const struct native_cache native_cache_regions;
extern const struct native_cache native_cache_blocks;
extern const struct native_cache native_cache_targets;
extern const struct native_cache native_cache_tnt;
extern const struct native_cache native_cache_tnt16;
extern const struct native_cache native_cache_counters;
extern const struct native_cache native_cache_steps;
extern const struct native_cache native_cache_packet_words;
extern const struct native_cache native_cache_invalidation;

#endif
