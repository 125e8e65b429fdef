/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading clocks: through the C library (vdso, where there is one), by system call, and through the
 * three entries of the vsyscall page where this kernel or emulator still has it.
 */
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#define VSYSCALL_TIME 0xffffffffff600400u

static int has_vsyscall(void)
{
	char line[512];
	int found = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, "[vsyscall]") != NULL;
	fclose(maps);
	return found;
}

int main(void)
{
	for (int i = 0; i < 20; i++) {
		struct timespec a;
		struct timespec b;
		struct timeval v;
		time_t t;

		CHECK(clock_gettime(CLOCK_MONOTONIC, &a) == 0);
		CHECK(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &b) == 0);
		CHECK(b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec >= a.tv_nsec));
		CHECK(gettimeofday(&v, NULL) == 0);
		t = time(NULL);
		/* time() may lag by a tick of the kernel's clock, also over the end of a second. */
		CHECK(t + 1 >= v.tv_sec);
		if (has_vsyscall())
			CHECK(((time_t(*)(time_t *))(uintptr_t)VSYSCALL_TIME)(NULL) + 1 >= v.tv_sec);
	}
	printf("time_calls done\n");
	return 0;
}
