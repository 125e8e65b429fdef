/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests sets of address ranges against a plain bitmap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "record/model/ranges.h"

#define SPACE 64

static void check_apart(const struct record_ranges *set)
{
	for (size_t i = 0; i < set->count; i++) {
		assert_true(set->ranges[i].first <= set->ranges[i].last);
		if (i)
			assert_true(set->ranges[i].first > set->ranges[i - 1].last + 1);
	}
}

static void agrees_with_bitmap(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 500; round++) {
		struct record_ranges set = {0};
		bool there[SPACE] = {false};

		for (int step = 0; step < 12; step++) {
			uint64_t first, last;
			bool any = false, all = true;

			seed = seed * 1103515245u + 12345u;
			first = seed >> 16 & (SPACE - 1);
			seed = seed * 1103515245u + 12345u;
			last = first + (seed >> 16 & 7);
			if (last >= SPACE)
				last = SPACE - 1;
			for (uint64_t i = first; i <= last; i++) {
				any |= there[i];
				all &= there[i];
			}
			assert_int_equal(record_ranges_touch(&set, first, last), any);
			assert_int_equal(record_ranges_cover(&set, first, last), all);
			if (step % 2)
				continue;
			assert_int_equal(record_ranges_add(&set, first, last), 0);
			for (uint64_t i = first; i <= last; i++)
				there[i] = true;
			check_apart(&set);
		}
		record_ranges_free(&set);
	}
}

static void holds_the_ends_of_the_address_space(void **state)
{
	struct record_ranges set = {0};

	(void)state;
	assert_int_equal(record_ranges_add(&set, UINT64_MAX - 1, UINT64_MAX), 0);
	assert_int_equal(record_ranges_add(&set, 0, 0), 0);
	assert_int_equal(set.count, 2);
	assert_true(record_ranges_cover(&set, UINT64_MAX, UINT64_MAX));
	assert_true(record_ranges_cover(&set, 0, 0));
	assert_false(record_ranges_touch(&set, 1, UINT64_MAX - 2));
	assert_int_equal(record_ranges_add(&set, 1, UINT64_MAX - 2), 0);
	assert_int_equal(set.count, 1);
	assert_true(record_ranges_cover(&set, 0, UINT64_MAX));
	record_ranges_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_bitmap),
		cmocka_unit_test(holds_the_ends_of_the_address_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
