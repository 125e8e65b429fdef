/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin that needs relocation: its data has pointers to its code and to the loader, in a table of
 * steps.
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
