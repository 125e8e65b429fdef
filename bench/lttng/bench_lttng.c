/* SPDX-License-Identifier: BSD-2-Clause */
/* What an event of lttng-ust costs: the same event, loop and clock as in provider_bench.c. Prints nanoseconds. */
#include <stdio.h>
#include <time.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench_tracepoint.h"

#define SPAN 4000
#define ROUNDS 200

static double cpu_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static __attribute__((noinline)) void write_events(void)
{
	for (unsigned i = 0; i < SPAN; i++)
		lttng_ust_tracepoint(ptl_bench, three_fields, i, 2, "fifteen letters");
}

int main(void)
{
	double best = 1e12;

	write_events();
	for (unsigned i = 0; i < ROUNDS; i++) {
		double start = cpu_now(), end;

		write_events();
		end = cpu_now();
		best = end - start < best ? end - start : best;
	}
	printf("%.2f\n", best / SPAN);
	return 0;
}
