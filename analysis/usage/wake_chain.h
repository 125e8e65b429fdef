/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chains of wake-ups: a thread was asleep until another thread woke it, which itself had been asleep until a third
 * thread woke it, and so on. Chains form a tree whose roots are the first wakers.
 */
#ifndef ANALYSIS_USAGE_WAKE_CHAIN_H
#define ANALYSIS_USAGE_WAKE_CHAIN_H

#include <stddef.h>
#include <stdint.h>

#include "common/hash_map.h"

#define USAGE_NO_CHAIN UINT32_MAX
#define USAGE_CHAIN_MAX 8        /* threads of a chain */
#define USAGE_CHAINS_MAX 1000000 /* chains of a trace; later chains count as their last two threads */

struct usage_chain {
	uint32_t thread;
	uint32_t waker;                 /* chain of the waker; USAGE_NO_CHAIN: the thread is the first waker */
	uint32_t depth;                 /* threads of the chain */
	uint64_t count, total, longest; /* of the sleeps that ended so */
};

/* Zero-initialised: no chains. */
struct usage_chains {
	struct common_hash_map index; /* by thread and chain of the waker */
	struct usage_chain *list;
	size_t count, capacity;
};

/* Finds or adds the chain of a thread that `waker` woke. A chain of USAGE_CHAIN_MAX threads loses its first waker. */
int usage_chain_find(struct usage_chains *chains, uint32_t thread, uint32_t waker, uint32_t *number);
/* Returns the numbers of the chains with the most total first; the caller frees them. NULL without memory. */
uint32_t *usage_chains_sort(const struct usage_chains *chains);
void usage_chains_free(struct usage_chains *chains);

#endif
