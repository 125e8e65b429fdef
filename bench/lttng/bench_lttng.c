/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the cost of an lttng-ust event: same event, loop and clock as in provider_bench.c. Prints nanoseconds. With
 * a number of threads and a number of events: each thread writes so many small events at full speed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
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

#define THREADS_MAX 64

static uint64_t burst_size;

static void *write_burst(void *thread)
{
	for (uint64_t i = 0; i < burst_size; i++)
		lttng_ust_tracepoint(ptl_bench, number, (uint32_t)(uintptr_t)thread, i);
	return NULL;
}

static int burst(unsigned count)
{
	pthread_t threads[THREADS_MAX];

	for (unsigned i = 0; i < count && i < THREADS_MAX; i++)
		if (pthread_create(&threads[i], NULL, write_burst, (void *)(uintptr_t)i))
			return 1;
	for (unsigned i = 0; i < count && i < THREADS_MAX; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	double best = 1e12;

	if (argc == 3) {
		burst_size = strtoull(argv[2], NULL, 10);
		return burst((unsigned)atoi(argv[1]));
	}
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
