/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums over pairs of threads. */
#ifndef ANALYSIS_USAGE_PAIR_H
#define ANALYSIS_USAGE_PAIR_H

#include <stddef.h>
#include <stdint.h>

#include "common/hash_map.h"

#define USAGE_NO_PAIR UINT32_MAX

struct usage_pair {
	uint32_t a, b;
	uint64_t count, total, longest;
	uint64_t delay, longest_delay; /* nanoseconds */
};

/* Zero-initialised: no pairs. */
struct usage_pairs {
	struct common_hash_map index;
	struct usage_pair *list;
	size_t count, capacity;
};

/* Finds or adds a pair. Fails with PTL_NO_MEMORY. */
int usage_pair_find(struct usage_pairs *pairs, uint32_t a, uint32_t b, uint32_t *number);
/* Adds an occurrence of `time` nanoseconds. */
void usage_pair_add(struct usage_pair *pair, uint64_t time);
/* Returns the numbers of the pairs with the most total first; the caller frees them. NULL without memory. */
uint32_t *usage_pairs_sort(const struct usage_pairs *pairs);
void usage_pairs_free(struct usage_pairs *pairs);

#endif
