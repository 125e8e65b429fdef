/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin whose data points at its code and at the loader, so that it has to be relocated: a table of
 * steps that it goes through.
 */
#include "host.h"

static unsigned rotate(unsigned n)
{
	return n << 7 | n >> 25;
}

static unsigned scramble(unsigned n)
{
	return (n ^ n >> 13) * 2654435761u;
}

static unsigned (*volatile const steps[])(unsigned) = {rotate, scramble, host_scale, rotate};

static unsigned history[16];

int entry(int x)
{
	unsigned n = (unsigned)x;

	for (unsigned i = 0; i < 16; i++) {
		n = steps[i % 4](n) + i;
		history[i] = n;
	}
	n ^= history[n % 16];
	host_count();
	return (int)(n % 1000);
}
