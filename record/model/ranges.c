/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of addresses as a sorted array of merged ranges. */
#include "record/model/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/partition.h"
#include "common/vector.h"

void record_ranges_free(struct record_ranges *set)
{
	free(set->ranges);
	*set = (struct record_ranges){0};
}

/* Returns the index of the first range that ends at or behind address. */
static size_t find_range(const struct record_ranges *set, uint64_t address)
{
	return COMMON_PARTITION(set->count, at, set->ranges[at].last < address);
}

int record_ranges_add(struct record_ranges *set, uint64_t first, uint64_t last)
{
	/* Merges adjacent ranges too; first - 1 and last + 1 must not wrap. */
	const size_t from = find_range(set, first ? first - 1 : 0);
	size_t to = from;

	while (to < set->count && (last == UINT64_MAX || set->ranges[to].first <= last + 1)) {
		if (set->ranges[to].first < first)
			first = set->ranges[to].first;
		if (set->ranges[to].last > last)
			last = set->ranges[to].last;
		to++;
	}
	if (from == to && COMMON_VECTOR_RESERVE(set->ranges, set->capacity, set->count + 1, "ranges"))
		return PTL_NO_MEMORY;
	memmove(set->ranges + from + 1, set->ranges + to, (set->count - to) * sizeof(*set->ranges));
	set->ranges[from] = (struct record_range){first, last};
	set->count = set->count - (to - from) + 1;
	return 0;
}

bool record_ranges_cover(const struct record_ranges *set, uint64_t first, uint64_t last)
{
	const size_t at = find_range(set, first);

	return at < set->count && set->ranges[at].first <= first && set->ranges[at].last >= last;
}

bool record_ranges_touch(const struct record_ranges *set, uint64_t first, uint64_t last)
{
	const size_t at = find_range(set, first);

	return at < set->count && set->ranges[at].first <= last;
}
