/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests numbers, sizes and durations in users' notation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/error.h"
#include "common/program/options.h"

struct value {
	const char *text;
	uint64_t value;
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void check(int (*parse)(const char *, uint64_t *), const struct value *good, size_t count,
		  const char *const *bad, size_t bad_count, const char *expected)
{
	uint64_t value;

	for (size_t i = 0; i < count; i++) {
		assert_int_equal(parse(good[i].text, &value), 0);
		assert_true(value == good[i].value);
	}
	for (size_t i = 0; i < bad_count; i++) {
		value = 42;
		assert_int_equal(parse(bad[i], &value), PTL_MISUSE);
		assert_true(value == 42);
		assert_non_null(strstr(ptl_error_text(), bad[i]));
		assert_non_null(strstr(ptl_error_text(), expected));
	}
}

static void numbers(void **state)
{
	static const struct value good[] = {
		{"0", 0},
		{"4096", 4096},
		{"010", 10},
		{"0x10", 16},
		{"0XfF", 255},
		{"18446744073709551615", UINT64_MAX},
		{"0xffffffffffffffff", UINT64_MAX},
	};
	static const char *const bad[] = {
		"", " 1", "1 ", "-1", "+1", "0x", "x10", "1K", "0xg", "1.5",
	};
	static const char *const large[] = {
		"18446744073709551616",
		"0x10000000000000000",
		"0X1fffffffffffffffF",
		"99999999999999999999999",
	};

	(void)state;
	check(common_parse_u64, good, COUNT(good), bad, COUNT(bad), "such as");
	check(common_parse_u64, NULL, 0, large, COUNT(large), "is too large");
}

static void sizes(void **state)
{
	static const struct value good[] = {
		{"0", 0},           {"7", 7},         {"16K", 16384},
		{"16k", 16384},     {"1M", 1 << 20},  {"2G", 2ull << 30},
		{"1T", 1ull << 40}, {"0x10K", 16384}, {"16777215T", 16777215ull << 40},
	};
	static const char *const bad[] = {"", "K", "1KB", "1m", "1 K", "-1K", "1.5M", "1KK"};
	static const char *const large[] = {"16777216T", "18446744073709551616", "18446744073709551615K"};

	(void)state;
	check(common_parse_size, good, COUNT(good), bad, COUNT(bad), "such as");
	check(common_parse_size, NULL, 0, large, COUNT(large), "is too large");
}

static void durations(void **state)
{
	static const struct value good[] = {
		{"0", 0},
		{"1", 1000000000},
		{"1.5s", 1500000000},
		{"20ms", 20000000},
		{"3us", 3000},
		{"7ns", 7},
		{"2m", 120000000000},
		{"1h", 3600000000000},
		{"0.000000001", 1},
		{"2.000000003s", 2000000003},
		{"0.5us", 500},
		{"0.25h", 900000000000},
		{"1.9ns", 1},
		{"18446744073.709551615", UINT64_MAX},
	};
	static const char *const bad[] = {
		"", "s", "1.", ".5", "1.s", "1 s", "-1s", "1min", "1d", "1e3", "0x10", "0.1234567890123456789",
	};
	static const char *const large[] = {"18446744073.709551616", "99999999999", "99999999999999999999ns"};

	(void)state;
	check(common_parse_duration, good, COUNT(good), bad, COUNT(bad), "such as");
	check(common_parse_duration, NULL, 0, large, COUNT(large), "is too large");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(sizes),
		cmocka_unit_test(durations),
	};

	return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
