/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads clocks: through the C library (vdso, if present), by system call, and through the three entries of the
 * vsyscall page if this kernel has the page. `time_calls page` only calls the page, and executes identically in each
 * run.
 */
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#define VSYSCALL_GETTIMEOFDAY 0xffffffffff600000u
#define VSYSCALL_TIME 0xffffffffff600400u
#define VSYSCALL_GETCPU 0xffffffffff600800u

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

static void call_page(void)
{
	struct timeval v;
	unsigned cpu = ~0u;
	time_t t = 0;

	CHECK(((int (*)(struct timeval *, void *))(uintptr_t)VSYSCALL_GETTIMEOFDAY)(&v, NULL) == 0);
	CHECK(((time_t(*)(time_t *))(uintptr_t)VSYSCALL_TIME)(&t) == t && t + 1 >= v.tv_sec);
	CHECK(((long (*)(unsigned *, unsigned *, void *))(uintptr_t)VSYSCALL_GETCPU)(&cpu, NULL, NULL) == 0 &&
	      cpu != ~0u);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "page") == 0) {
		for (int i = 0; i < 20; i++)
			call_page();
		printf("page done\n");
		return 0;
	}
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
		/* time() may lag by a tick of the kernel's clock, even across a second. */
		CHECK(t + 1 >= v.tv_sec);
		if (has_vsyscall())
			CHECK(((time_t(*)(time_t *))(uintptr_t)VSYSCALL_TIME)(NULL) + 1 >= v.tv_sec);
	}
	printf("time_calls done\n");
	return 0;
}
