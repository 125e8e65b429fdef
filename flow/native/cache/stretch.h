/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stretches: where a few TNT bits lead while flow stays at one home of the consumer of steps, such as a loop within a
 * function.
 */
#ifndef FLOW_NATIVE_CACHE_STRETCH_H
#define FLOW_NATIVE_CACHE_STRETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"

#define NATIVE_STRETCH_BITS 8 /* TNT bits of a key */
#define NATIVE_STRETCH_MIN 4  /* fewest bits for which a stretch saves time */
#define NATIVE_STRETCH_SHIFT 14
#define NATIVE_STRETCHES ((size_t)1 << NATIVE_STRETCH_SHIFT)
#define NATIVE_STRETCH_HOMES (1u << 30) /* limit of homes, exclusive */

struct native_stretch {
	uint64_t key;          /* see native_stretch_key; 0: free */
	uint32_t to;           /* counter behind the bits */
	uint32_t passed;       /* counter of the last passed region */
	uint32_t instructions; /* of the passed regions */
	uint32_t bits;         /* passed bits; fewer than the key has if the next region is not passed */
};

/* Zero-initialised: empty. */
struct native_stretches {
	struct native_stretch *table; /* by hash of the key; native_pages; NULL: not needed yet, or no memory */
	bool used;                    /* `table` has stretches */
};

/* Allocates the table at first use. */
void native_stretches_open(struct native_stretches *stretches);

/* bits: NATIVE_STRETCH_BITS TNT bits; here: number of a counter, a multiple of 32 below 2^31. */
static inline uint64_t native_stretch_key(uint32_t here, uint32_t home_number, uint64_t bits)
{
	return (uint64_t)here << 33 | (uint64_t)home_number << NATIVE_STRETCH_BITS | bits;
}

static inline struct native_stretch *native_stretch_at(struct native_stretch *table, uint64_t key)
{
	return &table[common_hash_high(key, NATIVE_STRETCH_SHIFT)];
}

#endif
