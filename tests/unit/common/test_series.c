/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of the files of a series, taken apart and found. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/error.h>

#include "common/session/series.h"

static void check_parse(const char *path, uint64_t number, const char *stem, const char *suffix)
{
	size_t stem_size, suffix_at;
	char *again;

	assert_true(common_series_parse(path, number, &stem_size, &suffix_at));
	assert_int_equal(stem_size, strlen(stem));
	assert_memory_equal(path, stem, stem_size);
	assert_string_equal(path + suffix_at, suffix);
	again = common_series_path(stem, number, suffix);
	assert_string_equal(again, path);
	free(again);
}

static void test_parse(void **state)
{
	size_t stem, suffix;

	(void)state;
	check_parse("/tmp/a.000003.ptl", 3, "/tmp/a", ".ptl");
	check_parse("a.000003", 3, "a", "");
	check_parse("a.000003.000003.ptl", 3, "a.000003", ".ptl");
	check_parse("/x.000003.ptl/a.1234567.ptl", 1234567, "/x.000003.ptl/a", ".ptl");
	assert_false(common_series_parse("/tmp/a.000003.ptl", 4, &stem, &suffix));
	assert_false(common_series_parse("/x.000003.ptl/a.ptl", 3, &stem, &suffix));
	assert_false(common_series_parse("a.0000031.ptl", 3, &stem, &suffix));
	assert_false(common_series_parse("/tmp/.000003.ptl", 3, &stem, &suffix));
	assert_false(common_series_parse("", 0, &stem, &suffix));
}

static void test_list(void **state)
{
	static const char *const names[] = {"a.000010.ptl", "a.000002.ptl",  "a.1000000.ptl",
					    "a.00003.ptl",  "a.0000004.ptl", "a.000005.ptl2",
					    "b.000006.ptl", "a.000007x.ptl", "a.00000000000000000001.ptl"};
	char folder[] = "/tmp/ptl-series-XXXXXX", path[64];
	uint64_t *numbers;
	size_t count;

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
	snprintf(path, sizeof(path), "%s/a", folder);
	assert_int_equal(common_series_list(path, ".ptl", 0, &numbers, &count), 0);
	assert_int_equal(count, 3);
	assert_int_equal(numbers[0], 2);
	assert_int_equal(numbers[1], 10);
	assert_int_equal(numbers[2], 1000000);
	free(numbers);
	assert_int_equal(common_series_list(path, ".ptl", 10, &numbers, &count), 0);
	assert_int_equal(count, 1);
	free(numbers);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
	snprintf(path, sizeof(path), "%s/a", folder);
	assert_int_equal(common_series_list(path, ".ptl", 0, &numbers, &count), PTL_NOT_FOUND);
	assert_int_equal(count, 0);
	assert_null(numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
