/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests percentiles of spreads: the least value that this share of all values does not exceed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/call/call_latency.h"

static void percentiles_of_few(void **state)
{
	struct analysis_spread spread = {0};

	(void)state;
	assert_int_equal(analysis_spread_percentile(&spread, 0.5), 0);
	for (uint64_t value = 1; value <= 4; value++)
		assert_int_equal(analysis_spread_add(&spread, 10 * value), 0);
	/* Values below 128 have buckets of their own. */
	assert_int_equal(analysis_spread_percentile(&spread, 0.25), 10);
	assert_int_equal(analysis_spread_percentile(&spread, 0.5), 20);
	assert_int_equal(analysis_spread_percentile(&spread, 0.51), 30);
	assert_int_equal(analysis_spread_percentile(&spread, 0.75), 30);
	assert_int_equal(analysis_spread_percentile(&spread, 1), 40);
	analysis_spread_free(&spread);
}

static void percentiles_of_many(void **state)
{
	struct analysis_spread spread = {0};

	(void)state;
	for (uint64_t value = 1; value <= 100000; value++)
		assert_int_equal(analysis_spread_add(&spread, value), 0);
	assert_int_equal(analysis_spread_percentile(&spread, 0.001), 100);
	for (unsigned percent = 1; percent <= 100; percent++) {
		const uint64_t exact = 1000 * (uint64_t)percent;
		const uint64_t found = analysis_spread_percentile(&spread, percent / 100.0);

		assert_true(found >= exact && found <= exact + exact / 128 && found <= 100000);
	}
	assert_int_equal(analysis_spread_between(&spread, 64, 127), 64);
	analysis_spread_free(&spread);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(percentiles_of_few), cmocka_unit_test(percentiles_of_many)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
