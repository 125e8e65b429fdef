/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the clocks of a trace: conversion of other clocks' times, and steps of the wall clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "record/capture/machine.h"
#include "record/clock/clock.h"
#include "record/clock/wall_step.h"

#define MILLISECOND 1000000
#define SECOND ((int64_t)1000000000)

/*
 * Makes a reading at a trace time with the wall clock `ahead` nanoseconds ahead. Returns whether the clock was stepped.
 */
static bool stepped(struct record_wall_watch *watch, int64_t time, int64_t ahead, int64_t took, int64_t *step)
{
	const struct record_wall_reading reading = {(uint64_t)time, (uint64_t)(time + took), time + took / 2 + ahead};

	return record_wall_stepped(watch, &reading, step);
}

static void steps(void **state)
{
	struct record_wall_watch watch = {0};
	int64_t step, time = 5 * SECOND, ahead = 1700000000 * SECOND;

	(void)state;
	assert_false(stepped(&watch, time, ahead, 100, &step));
	assert_false(stepped(&watch, time += SECOND / 10, ahead, 100, &step));
	/* Steered, and read slowly. */
	assert_false(stepped(&watch, time += SECOND / 10, ahead += 50000, 100, &step));
	assert_false(stepped(&watch, time += SECOND / 10, ahead + 40 * SECOND, 2 * MILLISECOND, &step));
	assert_true(stepped(&watch, time += SECOND / 10, ahead += 3600 * SECOND, 100, &step));
	assert_int_equal(step, 3600 * SECOND);
	assert_false(stepped(&watch, time += SECOND / 10, ahead, 100, &step));
	assert_true(stepped(&watch, time += SECOND / 10, ahead -= 20 * MILLISECOND, 100, &step));
	assert_int_equal(step, -20 * MILLISECOND);
	/* The recorder was stopped for an hour, while the clock was adjusted. */
	assert_false(stepped(&watch, time += 3600 * SECOND, ahead += SECOND, 100, &step));
	/* a step to before 1970 */
	assert_true(stepped(&watch, time += SECOND / 10, ahead = -2000000000 * SECOND, 100, &step));
}

static void texts(void **state)
{
	char text[256];

	(void)state;
	assert_non_null(strstr(record_wall_step_text(3600 * SECOND, text, sizeof(text)),
			       "forward by 3600.000 s: it was set, or "));
	assert_non_null(
		strstr(record_wall_step_text(-20 * MILLISECOND, text, sizeof(text)), "back by 0.020 s: it was set; "));
	assert_non_null(strstr(record_wall_step_text(INT64_MIN, text, sizeof(text)), "back by 9223372036.855 s"));
}

static uint64_t monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)(now.tv_sec * SECOND + now.tv_nsec);
}

/* The recorder's own times, programs' times and the kernel's times have the same distance. */
static void wall(void **state)
{
	const int64_t offset = record_clock_offset();
	struct ptl_machine machine = {.clock = PTL_CLOCK_MONOTONIC};
	const int64_t before = record_wall_now();
	const uint64_t first = monotonic();
	uint64_t distance, now;

	(void)state;
	assert_int_equal(record_clock_of_monotonic(first), first);
	record_machine_use_wall(&machine);
	assert_int_equal(machine.clock, PTL_CLOCK_SYSTEM);
	assert_false(record_clock_is_tsc());
	distance = record_clock_of_monotonic(0);
	assert_int_equal(record_clock_of_monotonic(first), first + distance);
	assert_int_equal(record_clock_offset(), offset + (int64_t)distance);
	/* fails if something sets the clock during the test */
	assert_true(machine.start_time >= (uint64_t)before);
	now = record_now();
	assert_in_range(now, first + distance, monotonic() + distance);
	record_clock_use_monotonic();
	assert_int_equal(record_clock_of_monotonic(first), first);
	now = record_now();
	assert_in_range(now, first, monotonic());
}

static void tsc(void **state)
{
	const struct record_tsc counts = {.zero = 5, .multiplier = 3, .shift = 1};
	struct ptl_machine machine = {.clock = PTL_CLOCK_MONOTONIC};

	(void)state;
	assert_int_equal(record_tsc_time(&counts, 100), 155);
	record_machine_use_tsc(&machine, &counts);
	assert_true(record_clock_is_tsc());
	assert_int_equal(machine.clock, PTL_CLOCK_PERF);
	assert_int_equal(machine.tsc_multiplier, 3);
	assert_int_equal(machine.tsc_frequency, 666666666);
	assert_int_equal(record_clock_offset(), 0);
	record_clock_use_monotonic();
	assert_false(record_clock_is_tsc());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps),
		cmocka_unit_test(texts),
		cmocka_unit_test(wall),
		cmocka_unit_test(tsc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
