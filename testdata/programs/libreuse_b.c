/* SPDX-License-Identifier: BSD-2-Clause */
/* Second of two libraries of equal size that use the same address in turn. */
int reuse(int x);

static int helper(int x)
{
	return x % 2 ? -x : x;
}

int reuse(int x)
{
	int (*volatile call)(int) = helper;
	int sum = 0;

	for (int i = x; i-- > 0;)
		if (i % 3)
			sum += call(i) * 2;
	return sum;
}
