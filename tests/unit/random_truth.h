/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares flow from a trace with the random program. */
#ifndef TESTS_UNIT_RANDOM_TRUTH_H
#define TESTS_UNIT_RANDOM_TRUTH_H

#include "tests/unit/dump_seen.h"
#include "tests/unit/random_flow.h"

/* Checks that the flow equals the program's real run, with its events. */
void check_truth(const struct random_flow *flow, const struct seen *seen);

#endif
