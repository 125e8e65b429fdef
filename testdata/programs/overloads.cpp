/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions with the same name in the source, and functions with names of several parts. */
#include "check.h"

#define NOINLINE __attribute__((noinline, noclone))

static volatile int sink;

NOINLINE int work(int value)
{
	sink = sink + value;
	return value + 1;
}

NOINLINE int work(int value, int more)
{
	sink = sink + value + more;
	return value + more;
}

namespace shapes
{
namespace
{
NOINLINE int area(int width)
{
	sink = sink + width;
	return width * width;
}
} /* namespace */

struct Scale {
	int factor;

	NOINLINE int apply(int value) const
	{
		sink = sink + value;
		return value * factor;
	}

	NOINLINE int operator()(int value) const
	{
		sink = sink - value;
		return value + factor;
	}
};

template <typename type> NOINLINE type half(type value)
{
	sink = sink ^ 1;
	return value / 2;
}
} /* namespace shapes */

int main(void)
{
	const shapes::Scale scale = {3};
	int sum = 0;

	for (int i = 0; i < 5; i++)
		sum += work(i) + work(i, 2) + shapes::area(i) + scale.apply(i) + scale(i) + shapes::half<int>(i);
	CHECK(sum == 124);
	return 0;
}
