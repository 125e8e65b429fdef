/* SPDX-License-Identifier: BSD-2-Clause */
/* Tail calls as compilers make them, calls through tables, and functions missing in symbol tables. */
#include "check.h"

#define NOINLINE __attribute__((noinline, noclone))

static volatile int sink;

NOINLINE int last_of_chain(int value);
NOINLINE int middle_of_chain(int value);
NOINLINE int start_of_chain(int value);
NOINLINE int with_condition(int value);
NOINLINE int by_pointer(int (*function)(int), int value);
NOINLINE int counted(int value);

NOINLINE int counted(int value)
{
	sink += value;
	return sink;
}

NOINLINE int last_of_chain(int value)
{
	return counted(value) + 1;
}

NOINLINE int middle_of_chain(int value)
{
	sink++;
	return last_of_chain(value + 1);
}

NOINLINE int start_of_chain(int value)
{
	sink++;
	return middle_of_chain(value + 1);
}

NOINLINE int with_condition(int value)
{
	if (value & 1)
		return last_of_chain(value);
	return sink;
}

NOINLINE int by_pointer(int (*function)(int), int value)
{
	sink++;
	return function(value);
}

int main(void)
{
	int (*volatile function)(int) = last_of_chain;

	for (int i = 0; i < 5; i++)
		counted(i);
	start_of_chain(1);
	with_condition(0);
	with_condition(1);
	by_pointer(function, 3);
	printf("sink %d\n", sink);
	return 0;
}
