/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds sets of spans against a plain table of addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "flow/native/cache/spans.h"
#include "tests/unit/pt_random.h"

#define ADDRESSES 200

/* Returns an address; the last addresses of the table are the last of the address space. */
static uint64_t address_of(unsigned i)
{
	return i < ADDRESSES / 2 ? i : (uint64_t)i - ADDRESSES;
}

static void check(const struct native_spans *set, const bool *table)
{
	size_t runs = 0;

	for (unsigned first = 0; first < ADDRESSES; first++) {
		bool any = false;

		for (unsigned last = first; last < ADDRESSES; last++) {
			any |= table[last];
			assert_int_equal(native_spans_meet(set, address_of(first), address_of(last)), any);
		}
		/* No span of the test crosses the gap between both halves. */
		runs += table[first] && (!first || first == ADDRESSES / 2 || !table[first - 1]);
	}
	assert_int_equal(set->count, runs);
}

static void spans_are_what_was_added(void **state)
{
	struct pt_random random = pt_random(1);
	struct native_spans set = {0};

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		bool table[ADDRESSES] = {false};

		for (unsigned i = 0; i < 12; i++) {
			unsigned half = (unsigned)pt_random_below(&random, 2) * ADDRESSES / 2;
			unsigned first = half + (unsigned)pt_random_below(&random, ADDRESSES / 2);
			unsigned last = first + (unsigned)pt_random_bits(&random, 6);

			if (last >= half + ADDRESSES / 2)
				last = half + ADDRESSES / 2 - 1;
			native_spans_add(&set, address_of(first), address_of(last));
			memset(table + first, true, last - first + 1);
			check(&set, table);
		}
		native_spans_clear(&set);
		assert_false(native_spans_meet(&set, 0, UINT64_MAX));
	}
	native_spans_free(&set);
}

static void too_many_are_all(void **state)
{
	struct native_spans set = {0};
	uint64_t i = 0;

	(void)state;
	for (; !set.all && i < 100000; i++)
		native_spans_add(&set, i * 16, i * 16 + 3);
	assert_in_range(i, 1000, 99999);
	assert_true(native_spans_meet(&set, UINT64_MAX, UINT64_MAX));
	native_spans_clear(&set);
	assert_false(native_spans_meet(&set, 0, UINT64_MAX));
	native_spans_add(&set, 0, UINT64_MAX);
	assert_int_equal(set.count, 1);
	assert_true(native_spans_meet(&set, 5, 5));
	native_spans_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_are_what_was_added),
		cmocka_unit_test(too_many_are_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
