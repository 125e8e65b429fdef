/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests limits of checks: a value at the limit passes, and a value beyond by one fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/lint/lint_check.h"

static bool passes(unsigned check, uint64_t number, uint64_t of, uint64_t limit)
{
	return analysis_lint_passes(check, &(struct analysis_lint_value){.number = number, .of = of}, limit);
}

static void limits_are_inclusive(void **state)
{
	unsigned shares = 0, numbers = 0;

	(void)state;
	for (unsigned i = 0; i < ANALYSIS_LINT_CHECKS; i++) {
		const uint64_t limit = analysis_lint_is_share(i) ? 25 * (uint64_t)ANALYSIS_LINT_MICRO : 1000;

		assert_true(passes(i, 1000, 4000, limit));
		assert_int_equal(passes(i, 1001, 4000, limit), analysis_lint_is_minimum(i));
		assert_int_equal(passes(i, 999, 4000, limit), !analysis_lint_is_minimum(i));
		assert_true(passes(i, 1001, 4000, ANALYSIS_LINT_ANY) && passes(i, 999, 4000, ANALYSIS_LINT_ANY));
		*(analysis_lint_is_share(i) ? &shares : &numbers) += 1;
	}
	assert_true(shares > 0 && numbers > 0);
}

static void of_nothing_nothing_is_missing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ANALYSIS_LINT_CHECKS; i++)
		assert_true(passes(i, 0, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(limits_are_inclusive),
					   cmocka_unit_test(of_nothing_nothing_is_missing)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
