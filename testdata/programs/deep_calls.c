/* SPDX-License-Identifier: BSD-2-Clause */
/* Recursion about as deep as a 64-entry return stack, and deeper, repeatedly; prints the number of calls. */
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

	for (unsigned depth = 0; depth < 160; depth++) {
		const unsigned n = depth < 120 ? 55 + depth % 20 : 60 + 7 * (depth - 120);

		sum += descend(n);
		calls += n + 1;
	}
	CHECK(sum);
	printf("%u\n", calls);
	return 0;
}
