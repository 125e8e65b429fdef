/* SPDX-License-Identifier: BSD-2-Clause */
/* Loops and branches that run a known number of times; with a second argument, one branch differs once. */
#include <stdio.h>
#include <stdlib.h>

static int wrong_at = -1;

static int is_third(int number)
{
	if (number % 3 == 0)
		return 1;
	return 0;
}

static int twice(int number)
{
	return 2 * number;
}

static int thrice(int number)
{
	return 3 * number;
}

static int step(int number)
{
	int (*change)(int) = twice;

	if (number % 4 == 0)
		change = thrice;
	if (number == wrong_at)
		return -1;
	return change(number);
}

static int choose(int number)
{
	switch (number % 5) {
	case 0:
		return 7;
	case 1:
		return 2;
	case 2:
		return 13;
	case 3:
		return -1;
	case 4:
		return -4;
	default:
		return 0;
	}
}

int main(int argc, char **argv)
{
	int rounds = 100;
	int sum = 0;

	if (argc > 1)
		rounds = atoi(argv[1]);
	if (argc > 2)
		wrong_at = atoi(argv[2]);
	for (int i = 0; i < rounds; i++) {
		if (is_third(i))
			sum += step(i);
		sum += choose(i);
	}
	printf("%d\n", sum);
	return 0;
}
