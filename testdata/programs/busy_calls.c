/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nested calls without frame pointers, about a quarter of a second: for samples whose calls are unwound. A number of calls ends the
 * program, not a clock: perf 6.1 loses the callers of some instructions of the vdso.
 */
#include "check.h"

#define CALLS 60000u

static volatile unsigned sum;

__attribute__((noipa)) static void work(unsigned n)
{
	while (n--)
		sum += n * n;
}

__attribute__((noipa)) static void with_room(unsigned n)
{
	volatile char room[100];

	room[n % 100] = 1;
	work(n);
	sum += (unsigned char)room[n % 100];
}

__attribute__((noipa)) static void deeper(unsigned depth, unsigned n)
{
	if (depth)
		deeper(depth - 1, n);
	else
		with_room(n);
	sum++;
}

int main(void)
{
	for (unsigned call = 0; call < CALLS; call++)
		deeper(call % 10, 2000);
	CHECK(sum);
	return 0;
}
