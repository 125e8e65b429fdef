/* SPDX-License-Identifier: BSD-2-Clause */
/* A set of addresses as sorted ranges. */
#ifndef RECORD_MODEL_RANGES_H
#define RECORD_MODEL_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised: empty. Ranges are inclusive, disjoint and not adjacent. */
struct record_ranges {
	struct record_range {
		uint64_t first;
		uint64_t last;
	} * ranges;
	size_t count;
	size_t capacity;
};

void record_ranges_free(struct record_ranges *set);

/* Adds the addresses from `first` to `last`, both inclusive. Fails with PTL_NO_MEMORY. */
int record_ranges_add(struct record_ranges *set, uint64_t first, uint64_t last);

/* cover: all addresses of [first, last] are in the set. touch: the set contains at least one address. */
bool record_ranges_cover(const struct record_ranges *set, uint64_t first, uint64_t last);
bool record_ranges_touch(const struct record_ranges *set, uint64_t first, uint64_t last);

#endif
