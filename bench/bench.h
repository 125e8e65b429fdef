/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared parts of benchmarks: results as a table or JSON lines, clocks, and pseudo-random numbers that are equal in
 * every run.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/error.h"
#include "common/text/json.h"

/* Output settings, set by bench_start(). */
static struct {
	const char *name; /* name of the benchmark */
	bool as_json;
	struct common_json json;
} bench_output;

static inline void bench_start(const char *name, bool as_json)
{
	bench_output.name = name;
	bench_output.as_json = as_json;
	common_json_start(&bench_output.json, stdout);
}

/* Prints a result; only tables have the note. */
static inline void bench_report(const char *name, double value, const char *unit, const char *note)
{
	struct common_json *json = &bench_output.json;

	if (!bench_output.as_json) {
		printf("%-52s %10.2f %-10s %s\n", name, value, unit, note);
		return;
	}
	common_json_object(json, NULL);
	common_json_string(json, "bench", bench_output.name);
	common_json_string(json, "name", name);
	common_json_double(json, "value", value);
	common_json_string(json, "unit", unit);
	common_json_object_end(json);
	common_json_line(json);
}

/* Ends the benchmark with the library's last error. */
static inline _Noreturn void bench_fail(const char *what)
{
	fprintf(stderr, "%s_bench: %s: %s\n", bench_output.name, what, ptl_error_text());
	exit(1);
}

static inline void bench_check(int status, const char *what)
{
	if (status)
		bench_fail(what);
}

/*
 * Returns a clock in seconds. Wall time shows the benefit of worker threads; CPU time is fair to single threads on a
 * busy machine.
 */
static inline double bench_now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static inline uint64_t bench_random(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static inline int bench_compare_doubles(const void *a, const void *b)
{
	const double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

/* Sorts the values, and returns the value in the middle. count: odd. */
static inline double bench_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), bench_compare_doubles);
	return values[count / 2];
}

#endif
