/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/usage/wake_chain.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"

static int find_link(struct usage_chains *chains, uint32_t thread, uint32_t waker, uint32_t *number)
{
	const uint64_t key = (uint64_t)thread << 32 | waker, *known = common_hash_map_get(&chains->index, key);

	if (known) {
		*number = (uint32_t)*known;
		return 0;
	}
	if (COMMON_VECTOR_RESERVE(chains->list, chains->capacity, chains->count + 1, "chains of wake-ups"))
		return PTL_NO_MEMORY;
	*number = (uint32_t)chains->count;
	chains->list[chains->count++] = (struct usage_chain){
		.thread = thread,
		.waker = waker,
		.depth = waker == USAGE_NO_CHAIN ? 1 : chains->list[waker].depth + 1,
	};
	return common_hash_map_put(&chains->index, key, *number);
}

/* Rebuilds the last `depth` threads of a chain. */
static int shorten(struct usage_chains *chains, uint32_t chain, uint32_t depth, uint32_t *number)
{
	uint32_t threads[USAGE_CHAIN_MAX], count = 0;
	int status = 0;

	for (uint32_t at = chain; at != USAGE_NO_CHAIN && count < depth; at = chains->list[at].waker)
		threads[count++] = chains->list[at].thread;
	*number = USAGE_NO_CHAIN;
	while (status == 0 && count)
		status = find_link(chains, threads[--count], *number, number);
	return status;
}

int usage_chain_find(struct usage_chains *chains, uint32_t thread, uint32_t waker, uint32_t *number)
{
	const uint32_t most = chains->count < USAGE_CHAINS_MAX ? USAGE_CHAIN_MAX - 1 : 1;
	int status = 0;

	if (waker != USAGE_NO_CHAIN && chains->list[waker].depth > most)
		status = shorten(chains, waker, most, &waker);
	return status < 0 ? status : find_link(chains, thread, waker, number);
}

static int compare_chains(const void *a, const void *b, void *list)
{
	const uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
	const uint64_t x = ((const struct usage_chain *)list)[m].total, y = ((const struct usage_chain *)list)[n].total;

	if (x != y)
		return x > y ? -1 : 1;
	return m < n ? -1 : m > n;
}

uint32_t *usage_chains_sort(const struct usage_chains *chains)
{
	uint32_t *order = malloc((chains->count + 1) * sizeof(*order));

	if (!order)
		return NULL;
	for (size_t i = 0; i < chains->count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, chains->count, sizeof(*order), compare_chains, chains->list);
	return order;
}

void usage_chains_free(struct usage_chains *chains)
{
	common_hash_map_free(&chains->index);
	free(chains->list);
	*chains = (struct usage_chains){.count = 0};
}
