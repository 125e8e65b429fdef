/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recursion about as deep as a 64-entry return stack, deeper, and deeper than the software source's 960 entries, which it
 * then moves; prints the number of calls.
 */
#include "check.h"

__attribute__((noipa)) static unsigned descend(unsigned n)
{
	const unsigned sum = n ? descend(n - 1) + n : 0;

	/* prevents a loop in place of the recursion */
	__asm__ volatile("" ::: "memory");
	return sum;
}

int main(void)
{
	unsigned calls = 0, sum = 0;

	for (unsigned depth = 0; depth < 164; depth++) {
		const unsigned n = depth < 4     ? 955 + 400 * depth
				   : depth < 124 ? 55 + depth % 20
						 : 60 + 7 * (depth - 124);

		sum += descend(n);
		calls += n + 1;
	}
	CHECK(sum);
	printf("%u\n", calls);
	return 0;
}
