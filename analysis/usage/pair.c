/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/usage/pair.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"

int usage_pair_find(struct usage_pairs *pairs, uint32_t a, uint32_t b, uint32_t *number)
{
	const uint64_t key = (uint64_t)a << 32 | b, *known = common_hash_map_get(&pairs->index, key);

	if (known) {
		*number = (uint32_t)*known;
		return 0;
	}
	if (COMMON_VECTOR_RESERVE(pairs->list, pairs->capacity, pairs->count + 1, "pairs of threads"))
		return PTL_NO_MEMORY;
	*number = (uint32_t)pairs->count;
	pairs->list[pairs->count++] = (struct usage_pair){.a = a, .b = b};
	return common_hash_map_put(&pairs->index, key, *number);
}

void usage_pair_add(struct usage_pair *pair, uint64_t time)
{
	pair->count++;
	pair->total += time;
	if (time > pair->longest)
		pair->longest = time;
}

static int compare_totals(const void *a, const void *b, void *list)
{
	const uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
	const struct usage_pair *x = (const struct usage_pair *)list + m, *y = (const struct usage_pair *)list + n;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return m < n ? -1 : m > n;
}

uint32_t *usage_pairs_sort(const struct usage_pairs *pairs)
{
	uint32_t *order = malloc((pairs->count + 1) * sizeof(*order));

	if (!order)
		return NULL;
	for (size_t i = 0; i < pairs->count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, pairs->count, sizeof(*order), compare_totals, pairs->list);
	return order;
}

void usage_pairs_free(struct usage_pairs *pairs)
{
	common_hash_map_free(&pairs->index);
	free(pairs->list);
	*pairs = (struct usage_pairs){.count = 0};
}
