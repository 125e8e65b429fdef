/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that end with a jump to another function: directly, by a pointer, on a condition, from a table of jumps. One has
 * a loop at its entry.
 */
#include <stdio.h>

#define NOT_INLINED __attribute__((noinline))

NOT_INLINED int twice(int a)
{
	__asm__ volatile("");
	return a * 2;
}

NOT_INLINED int thrice(int a)
{
	__asm__ volatile("");
	return a * 3;
}

static int (*volatile pointer)(int) = thrice;

NOT_INLINED int direct(int a)
{
	__asm__ volatile("");
	return twice(a + 1);
}

NOT_INLINED int indirect(int a)
{
	__asm__ volatile("");
	return pointer(a + 1);
}

NOT_INLINED int conditional(int a)
{
	return a > 3 ? thrice(a) : a;
}

NOT_INLINED int table(int a, int b)
{
	switch (a) {
	case 0:
		return b;
	case 1:
		return b * 7 + thrice(b);
	case 2:
		return b / 3;
	case 3:
		return b - 5;
	case 4:
		return b ^ 77;
	case 5:
		return twice(b);
	case 6:
		b += 12;
		break;
	default:
		return 0;
	}
	return b * b;
}

NOT_INLINED void loop(volatile int *v)
{
	do
		--*v;
	while (*v > 0);
}

int main(void)
{
	for (int i = 0; i < 7; i++) {
		int n = i * 10;

		printf("%d %d %d %d\n", direct(i), indirect(i), conditional(i), table(i, i));
		loop(&n);
	}
	return 0;
}
