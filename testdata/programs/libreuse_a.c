/* SPDX-License-Identifier: BSD-2-Clause */
/* First of two libraries of equal size that use the same address in turn. */
int reuse(int x);

static int helper(int x)
{
	return x * 3;
}

int reuse(int x)
{
	int (*volatile call)(int) = helper;
	int sum = 0;

	for (int i = 0; i < x; i++)
		sum += call(i) + 1;
	return sum;
}
