/* SPDX-License-Identifier: BSD-2-Clause */
/* What tests with traces of random programs have in common: the machine, and a program of each test's own. */
#ifndef TESTS_UNIT_RANDOM_FIXTURE_H
#define TESTS_UNIT_RANDOM_FIXTURE_H

#include <stdlib.h>

#include <ptl/trace.h>

#include "tests/unit/random_flow.h"

static const struct ptl_machine machine = {
	.source = "test",
	.software = true,
	.mode = 64,
	.clock = PTL_CLOCK_MONOTONIC,
	.tsc_multiplier = 1,
};

static struct random_flow *flow; /* too large for the stack */

static int set_up(void **state)
{
	(void)state;
	flow = malloc(sizeof(*flow));
	return flow ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(flow);
	return 0;
}

#endif
