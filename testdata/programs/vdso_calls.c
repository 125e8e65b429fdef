/* SPDX-License-Identifier: BSD-2-Clause */
/* main calls ask, and ask reads the clock many times, which the vdso does without a system call: for the callers of the vdso's code. */
#include "check.h"

#include <time.h>

#define READS 8000000u

__attribute__((noipa)) static long ask(unsigned reads)
{
	struct timespec time = {0};
	long sum = 0;

	while (reads--) {
		clock_gettime(CLOCK_MONOTONIC, &time);
		sum += time.tv_nsec;
	}
	return sum;
}

int main(void)
{
	CHECK(ask(READS));
	return 0;
}
