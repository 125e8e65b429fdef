/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by tests with traces of random programs: the machine, and a program per test. */
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
