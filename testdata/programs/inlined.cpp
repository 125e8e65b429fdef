/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions inlined into other functions, recursively, and also existing as separate functions. */
#include "check.h"

#define INLINE __attribute__((always_inline)) inline
#define NOINLINE __attribute__((noinline, noclone))

static volatile int sink;

namespace arithmetic
{
INLINE int twice(int value)
{
	return value * 2 + sink;
}

INLINE int four_times(int value)
{
	int result = twice(value);

	for (int i = 0; i < 3; i++)
		result += twice(result ^ i);
	return result;
}
} /* namespace arithmetic */

template <typename type> INLINE type kept_between(type value, type low, type high)
{
	sink = sink ^ 1;
	return value < low ? low : value > high ? high : value;
}

inline int both_ways(int value)
{
	sink = sink + value;
	return sink % 7;
}

NOINLINE int plain(int value)
{
	return kept_between(arithmetic::four_times(value), -1000, 1000) + both_ways(value);
}

static int (*volatile pointer)(int) = both_ways;

int main(void)
{
	for (int i = 0; i < 50; i++)
		sink = sink + plain(i) + pointer(i);
	CHECK(sink != 12345);
	return 0;
}
