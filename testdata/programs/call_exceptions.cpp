// SPDX-License-Identifier: BSD-2-Clause
// Exceptions, with a log of all calls: through frames with and without cleanup, rethrown, and below destructors.
#include <stdexcept>
#include <string>

#include "call_log.h"

#define NOINLINE __attribute__((noinline))

struct guard {
	int *count;
	NOINLINE explicit guard(int *counted) : count(counted)
	{
		++*count;
	}
	NOINLINE ~guard()
	{
		--*count;
	}
};

static int guards;

NOINLINE static int thrower(int depth, int kind)
{
	guard here(&guards);

	if (depth == 0) {
		if (kind == 0)
			throw std::runtime_error("zero");
		if (kind == 1)
			throw kind;
		return 1;
	}
	return thrower(depth - 1, kind) + 1;
}

NOINLINE static int rethrower(int depth, int kind)
{
	try {
		return thrower(depth, kind);
	} catch (const std::exception &) {
		throw std::string("another");
	}
}

NOINLINE static int catcher(int depth, int kind)
{
	try {
		return rethrower(depth, kind);
	} catch (const std::string &text) {
		return (int)text.size();
	} catch (int number) {
		return -number;
	}
}

/* Several frames of this function exist; the handler is in a certain frame. */
NOINLINE static int within(int depth)
{
	guard here(&guards);

	if (depth == 9)
		throw depth;
	if (depth % 3)
		return within(depth + 1) + 1;
	try {
		return within(depth + 1) + 1;
	} catch (int number) {
		if (depth)
			throw;
		return number;
	}
}

NOINLINE static int everything()
{
	int sum = 0;

	for (int i = 0; i < 12; i++)
		sum += catcher(i % 5, i % 3);
	for (int i = 0; i < 3; i++)
		sum += within(0);
	return sum;
}

NOT_LOGGED int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	const int sum = everything();

	call_log_write(argv[1]);
	printf("sum %d, guards %d\n", sum, guards);
	return guards != 0;
}
