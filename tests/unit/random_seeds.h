/* SPDX-License-Identifier: BSD-2-Clause */
/* Seeds of tests with random programs. */
#ifndef TESTS_UNIT_RANDOM_SEEDS_H
#define TESTS_UNIT_RANDOM_SEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Successive seeds of a test, starting at PTL_RANDOM_FIRST (default 1): `usual` seeds, or PTL_RANDOM_PROGRAMS, or as
 * many as PTL_RANDOM_SECONDS of CPU time allow. A failing seed is printed.
 */
struct random_seeds {
	uint64_t seed; /* current seed; 0: not started */
	uint64_t next, left;
	clock_t until; /* 0: no limit */
};

struct random_seeds random_flow_seeds(uint64_t usual);
/* Continues with the next seed. False: no seed is left. */
bool random_flow_next(struct random_seeds *seeds);
/* Called at the end of the program: a current seed means a failed assertion, and is printed. */
void random_flow_report(const struct random_seeds *seeds);

#endif
