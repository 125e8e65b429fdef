/* SPDX-License-Identifier: BSD-2-Clause */
/* The seeds of a test of random programs. */
#ifndef TESTS_UNIT_RANDOM_SEEDS_H
#define TESTS_UNIT_RANDOM_SEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Seeds of a test, one after the other, from PTL_RANDOM_FIRST (1) on: `usual` of them, or as many as PTL_RANDOM_PROGRAMS says, or
 * as many as PTL_RANDOM_SECONDS of CPU time allow. One that fails is printed.
 */
struct random_seeds {
	uint64_t seed; /* at hand; 0: none */
	uint64_t next, left;
	clock_t until; /* 0: no limit */
};

struct random_seeds random_flow_seeds(uint64_t usual);
/* Goes on to the next seed; false: all are done. */
bool random_flow_next(struct random_seeds *seeds);
/* At the end of the program: a test that has a seed at hand was left by a failed assertion. Does nothing otherwise. */
void random_flow_report(const struct random_seeds *seeds);

#endif
