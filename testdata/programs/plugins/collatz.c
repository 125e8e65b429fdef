/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin with sections mapped from its file: loops, a table of functions, calls to the
 * loader.
 */
#include "host.h"

static unsigned half(unsigned n)
{
	return n / 2;
}

static unsigned triple(unsigned n)
{
	return host_sum(3 * n, 1);
}

static unsigned (*volatile step[2])(unsigned) = {half, triple};
static unsigned longest;

int entry(int x)
{
	unsigned steps = 0;

	for (unsigned n = (unsigned)x; n != 1; n = step[n % 2](n))
		steps++;
	if (steps > longest)
		longest = steps;
	host_count();
	return (int)host_scale(longest);
}
