/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests filters: values of --pid, --time and --image, and matching. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/input/filter.h"
#include "common/error.h"

static void numbers(void **state)
{
	static const char *const wrong[] = {
		"", "x", "1,", ",1", "1,,2", "-1", "4294967295", "1 2", "99999999999999999999999999"};
	struct common_id_set set = {0};
	struct analysis_filter filter = {0};

	(void)state;
	assert_true(common_id_set_has(&set, 7));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct common_id_set other = {0};

		assert_int_equal(common_id_set_parse(&other, wrong[i]), PTL_MISUSE);
		filter.pids = other;
		analysis_filter_free(&filter);
	}
	assert_int_equal(common_id_set_parse(&set, "1,0x10"), 0);
	assert_int_equal(common_id_set_parse(&set, "3"), 0);
	assert_true(common_id_set_has(&set, 1) && common_id_set_has(&set, 16) && common_id_set_has(&set, 3));
	assert_false(common_id_set_has(&set, 7));
	filter.tids = set;
	assert_true(analysis_filter_wants_thread(&filter, 99, 3));
	assert_false(analysis_filter_wants_thread(&filter, 3, 99));
	analysis_filter_free(&filter);
}

/* Time spans in a trace from 1000 to 5000. */
static const struct {
	const char *text;
	int status;
	uint64_t first, last;
} spans[] = {
	{"0..1s", 0, 1000, 1000001000},
	{"1ms..2ms", 0, 1001000, 2001000},
	{"5us..", 0, 6000, UINT64_MAX},
	{"..7ns", 0, 0, 1007},
	{"1.5us..1.75us", 0, 2500, 2750},
	{"@1500ns..@1600ns", 0, 1500, 1600},
	{"@0..500ns", 0, 0, 1500},
	{"1ns..1ns", 0, 1001, 1001},
	{"18446744073709551615ns..", 0, UINT64_MAX, UINT64_MAX},
	{"-1us..", 0, 4000, UINT64_MAX},
	{"-3us..-1us", 0, 2000, 4000},
	{"-0..", 0, 5000, UINT64_MAX},
	{"..-500ns", 0, 0, 4500},
	{"500ns..-500ns", 0, 1500, 4500},
	{"-1h..", 0, 0, UINT64_MAX},
	{"..-1h", 0, 0, 1},
	{"@0..@0", 0, 0, 1},
	{"-..", PTL_MISUSE, 0, 0},
	{"--1..", PTL_MISUSE, 0, 0},
	{"-1us..-2us", PTL_MISUSE, 0, 0},
	{"4us..-1us", PTL_MISUSE, 0, 0},
	{"", PTL_MISUSE, 0, 0},
	{"..", PTL_MISUSE, 0, 0},
	{"5", PTL_MISUSE, 0, 0},
	{"5..6", PTL_MISUSE, 0, 0},
	{"5ms..6", PTL_MISUSE, 0, 0},
	{"-1.5..", PTL_MISUSE, 0, 0},
	{"@5..", PTL_MISUSE, 0, 0},
	{"1..x", PTL_MISUSE, 0, 0},
	{"@..1", PTL_MISUSE, 0, 0},
	{"2..1", PTL_MISUSE, 0, 0},
};

static void times(void **state)
{
	const struct ptl_machine machine = {.clock = PTL_CLOCK_MONOTONIC, .start_time = 1000};
	const struct ptl_machine timeless = {.clock = PTL_CLOCK_NONE};

	(void)state;
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		struct analysis_filter filter = {0};
		int status = common_time_span_parse(spans[i].text, &filter.span);

		if (status == 0)
			status = analysis_filter_resolve(&filter, &machine, 5000);
		assert_int_equal(status, spans[i].status);
		if (status < 0)
			continue;
		assert_true(filter.first_time == spans[i].first && filter.last_time == spans[i].last);
		assert_true(analysis_filter_wants_time(&filter, spans[i].last));
		assert_false(analysis_filter_wants_time(&filter, 0));
		assert_int_equal(analysis_filter_resolve(&filter, &timeless, 0), PTL_MISUSE);
	}
}

static void last(void **state)
{
	const struct ptl_machine machine = {.clock = PTL_CLOCK_MONOTONIC, .start_time = 1000};
	struct analysis_filter filter = {0};

	(void)state;
	assert_int_equal(common_time_span_last("1us", &filter.span), 0);
	assert_int_equal(analysis_filter_resolve(&filter, &machine, 5000), 0);
	assert_true(filter.first_time == 4000 && filter.last_time == UINT64_MAX);
	/* the end of the trace is unknown */
	assert_int_equal(analysis_filter_resolve(&filter, &machine, 0), PTL_MISUSE);
	assert_int_equal(common_time_span_last("20", &filter.span), PTL_MISUSE);
	assert_int_equal(common_time_span_last("-1us", &filter.span), PTL_MISUSE);
	assert_int_equal(common_time_span_last("", &filter.span), PTL_MISUSE);
}

static void no_time(void **state)
{
	const struct ptl_machine timeless = {.clock = PTL_CLOCK_NONE};
	struct analysis_filter filter = {0};

	(void)state;
	assert_int_equal(analysis_filter_resolve(&filter, &timeless, 0), 0);
	assert_true(analysis_filter_wants_time(&filter, 0) && analysis_filter_wants_time(&filter, 5));
}

static void images(void **state)
{
	struct analysis_filter filter = {0};

	(void)state;
	assert_true(analysis_filter_wants_image(&filter, "/usr/lib/libc.so.6"));
	assert_int_equal(common_string_list_add(&filter.images, "libc.so*"), 0);
	assert_int_equal(common_string_list_add(&filter.images, "/opt/*"), 0);
	assert_true(analysis_filter_wants_image(&filter, "/usr/lib/libc.so.6"));
	assert_true(analysis_filter_wants_image(&filter, "libc.so"));
	assert_true(analysis_filter_wants_image(&filter, "/opt/a/b"));
	assert_false(analysis_filter_wants_image(&filter, "/usr/lib/libm.so.6"));
	assert_false(analysis_filter_wants_image(&filter, "/usr/opt/b"));
	analysis_filter_free(&filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers), cmocka_unit_test(times),  cmocka_unit_test(last),
		cmocka_unit_test(no_time), cmocka_unit_test(images),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
