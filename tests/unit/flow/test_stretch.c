/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the table of stretches: keys, and what changes of code forget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flow/native/cache/cache.h"
#include "flow/native/cache/code.h"

static struct native_code code;

static int setup(void **state)
{
	(void)state;
	native_stretches_open(&code.stretches);
	assert_non_null(code.stretches.table);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	native_cache_stretches.close(&code);
	assert_null(code.stretches.table);
	return 0;
}

static void keys_are_unique(void **state)
{
	static const uint32_t heres[] = {32, 64, 1u << 30, (1u << 31) - 32};
	static const uint32_t homes[] = {1, 2, 1u << 24, NATIVE_STRETCH_HOMES - 1};
	static const uint64_t bits[] = {0, 1, (1u << NATIVE_STRETCH_BITS) - 1};
	uint64_t keys[4 * 4 * 3];
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 4; j++)
			for (size_t k = 0; k < 3; k++)
				keys[count++] = native_stretch_key(heres[i], homes[j], bits[k]);
	for (size_t i = 0; i < count; i++) {
		assert_int_not_equal(keys[i], 0);
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(keys[i], keys[j]);
	}
}

static void put(uint64_t key)
{
	*native_stretch_at(code.stretches.table, key) = (struct native_stretch){.key = key, .to = 32, .bits = 8};
	code.stretches.used = true;
}

static void a_change_of_code_forgets_all(void **state)
{
	const uint64_t key = native_stretch_key(32, 1, 5);
	const struct native_stretch *stretch = native_stretch_at(code.stretches.table, key);

	(void)state;
	put(key);
	assert_int_equal(stretch->key, key);
	native_cache_stretches.invalidate(&code, 1);
	assert_int_equal(stretch->key, 0);
	assert_false(code.stretches.used);
	put(key);
	native_cache_stretches.clear(&code);
	assert_int_equal(stretch->key, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(keys_are_unique, setup, teardown),
		cmocka_unit_test_setup_teardown(a_change_of_code_forgets_all, setup, teardown),
	};

	return cmocka_run_group_tests_name("stretch", tests, NULL, NULL);
}
