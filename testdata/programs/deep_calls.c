/* SPDX-License-Identifier: BSD-2-Clause */
/* Recursion about as deep as a 64-entry return stack, and deeper, again and again: it says how many calls that makes. */
#include "check.h"

__attribute__((noipa)) static unsigned descend(unsigned n)
{
	const unsigned sum = n ? descend(n - 1) + n : 0;

	/* Else the compiler makes a loop of it. */
	__asm__ volatile("" ::: "memory");
	return sum;
}

int main(void)
{
	unsigned calls = 0, sum = 0;

	for (unsigned depth = 0; depth < 160; depth++) {
		const unsigned n = depth < 120 ? 55 + depth % 20 : 60 + 7 * (depth - 120);

		sum += descend(n);
		calls += n + 1;
	}
	CHECK(sum);
	printf("%u\n", calls);
	return 0;
}
