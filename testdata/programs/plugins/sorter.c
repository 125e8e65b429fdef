/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin encoded in its file: a recursive sort and a switch, in code that no file on disk
 * shows.
 */
#include "host.h"

static unsigned numbers[64];

static void sort(unsigned *from, unsigned *to)
{
	unsigned *left = from;
	unsigned *right = to;

	while (left < right) {
		unsigned t;

		if (*left <= *from) {
			left++;
			continue;
		}
		t = *left;
		*left = *right;
		*right-- = t;
	}
	if (from >= to)
		return;
	if (*left > *from)
		left--;
	if (left != from) {
		unsigned t = *from;

		*from = *left;
		*left = t;
	}
	sort(from, left > from ? left - 1 : left);
	sort(left + 1, to);
}

static unsigned pick(unsigned n)
{
	switch (n % 7) {
	case 0:
		return numbers[1];
	case 1:
		return host_scale(numbers[2]);
	case 2:
		return numbers[3] ^ 0x55;
	case 3:
		return host_sum(numbers[4], n);
	case 4:
		return numbers[5] >> 3;
	case 5:
		return ~numbers[6];
	default:
		return numbers[0];
	}
}

int entry(int x)
{
	for (unsigned i = 0; i < 64; i++)
		numbers[i] = (i * 2654435761u + (unsigned)x) % 1000;
	sort(numbers, numbers + 63);
	for (unsigned i = 1; i < 64; i++)
		if (numbers[i - 1] > numbers[i])
			return -1000000;
	host_count();
	return (int)(pick((unsigned)x) % 1000);
}
