/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads clocks. */
#include "record/clock/clock.h"

#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

static struct record_tsc used; /* multiplier 0: unused */
/* nanoseconds that CLOCK_MONOTONIC is behind the trace's clock; 0: the trace uses CLOCK_MONOTONIC */
static uint64_t wall;

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t record_tsc_time(const struct record_tsc *tsc, uint64_t count)
{
	return tsc->zero + (uint64_t)((__uint128_t)count * tsc->multiplier >> tsc->shift);
}

void record_clock_use_tsc(const struct record_tsc *tsc)
{
	used = *tsc;
	wall = 0;
}

void record_clock_use_wall(void)
{
	used = (struct record_tsc){0};
	wall = (uint64_t)record_wall_now() - read_clock(CLOCK_MONOTONIC);
}

void record_clock_use_monotonic(void)
{
	used = (struct record_tsc){0};
	wall = 0;
}

bool record_clock_is_tsc(void)
{
	return used.multiplier != 0;
}

uint64_t record_now(void)
{
	return used.multiplier ? record_tsc_time(&used, __rdtsc()) : read_clock(CLOCK_MONOTONIC) + wall;
}

int64_t record_wall_now(void)
{
	return (int64_t)read_clock(CLOCK_REALTIME);
}

/* Assumes the current difference of the clocks for a recent time: both clocks run at nearly the same rate. */
uint64_t record_clock_of_monotonic(uint64_t time)
{
	return used.multiplier ? time + (record_now() - read_clock(CLOCK_MONOTONIC)) : time + wall;
}

/* A kernel without the file has no time namespaces. */
int64_t record_clock_offset(void)
{
	FILE *file = used.multiplier ? NULL : fopen("/proc/self/timens_offsets", "re");
	long long seconds = 0, nanoseconds = 0;

	if (!file)
		return (int64_t)wall;
	if (fscanf(file, "monotonic %lld %lld", &seconds, &nanoseconds) != 2)
		seconds = nanoseconds = 0;
	fclose(file);
	return seconds * 1000000000 + nanoseconds + (int64_t)wall;
}
