/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses seeds by environment variables. */
#include "tests/unit/random_seeds.h"

#include <stdio.h>
#include <stdlib.h>

/* A build with sanitizers runs a third of the programs: the plain build runs all of them in less time. */
#ifdef __SANITIZE_ADDRESS__
#define SHARE 3
#else
#define SHARE 1
#endif

struct random_seeds random_flow_seeds(uint64_t usual)
{
	const char *count = getenv("PTL_RANDOM_PROGRAMS"), *first = getenv("PTL_RANDOM_FIRST");
	const char *seconds = getenv("PTL_RANDOM_SECONDS");
	struct random_seeds seeds = {.next = first ? strtoull(first, NULL, 0) : 1, .left = (usual + SHARE - 1) / SHARE};

	if (count)
		seeds.left = strtoull(count, NULL, 0);
	else if (seconds)
		seeds.left = UINT64_MAX;
	if (seconds)
		seeds.until = clock() + (clock_t)strtoull(seconds, NULL, 0) * CLOCKS_PER_SEC;
	return seeds;
}

bool random_flow_next(struct random_seeds *seeds)
{
	bool more = seeds->left && (!seeds->until || clock() < seeds->until);

	seeds->left -= more;
	seeds->seed = more ? seeds->next++ : 0;
	return more;
}

void random_flow_report(const struct random_seeds *seeds)
{
	if (seeds->seed)
		fprintf(stderr, "to repeat it: PTL_RANDOM_FIRST=%llu PTL_RANDOM_PROGRAMS=1\n",
			(unsigned long long)seeds->seed);
}
