/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds flow out of a trace against the random program that it is of. */
#ifndef TESTS_UNIT_RANDOM_TRUTH_H
#define TESTS_UNIT_RANDOM_TRUTH_H

#include "tests/unit/dump_seen.h"
#include "tests/unit/random_flow.h"

/* The flow is what the program's run really executed, with its events. */
void check_truth(const struct random_flow *flow, const struct seen *seen);

#endif
