/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests growing arrays: growth, and refusal of excessive sizes without a change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/error.h"
#include "common/vector.h"

static void grows(void **state)
{
	size_t capacity = 0, moves = 0;
	uint32_t *array = NULL;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		const size_t before = capacity;

		assert_int_equal(COMMON_VECTOR_RESERVE(array, capacity, i + 1, "numbers"), 0);
		assert_true(capacity > i);
		moves += capacity != before;
		array[i] = i;
	}
	assert_in_range(moves, 2, 20);
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(array[i], i);
	free(array);
}

static void grows_by_many(void **state)
{
	struct {
		uint16_t capacity;
		char (*rows)[24];
	} table = {0};

	(void)state;
	assert_int_equal(COMMON_VECTOR_RESERVE(table.rows, table.capacity, 1000, "rows"), 0);
	assert_int_equal(table.capacity, 1000);
	memset(table.rows, 1, 1000 * sizeof(*table.rows));
	assert_int_equal(COMMON_VECTOR_RESERVE(table.rows, table.capacity, 1001, "rows"), 0);
	assert_int_equal(table.capacity, 2000);
	assert_int_equal(table.rows[999][23], 1);
	/* Doubling stops at the maximum of the capacity's type. */
	assert_int_equal(COMMON_VECTOR_RESERVE(table.rows, table.capacity, 40000, "rows"), 0);
	assert_int_equal(COMMON_VECTOR_RESERVE(table.rows, table.capacity, 40001, "rows"), 0);
	assert_int_equal(table.capacity, UINT16_MAX);
	free(table.rows);
}

static void refuses(void **state)
{
	uint64_t *array = NULL, *before;
	size_t capacity = 0, many = 256;
	uint8_t few = 0;
	char *text = NULL;

	(void)state;
	assert_int_equal(COMMON_VECTOR_RESERVE(array, capacity, 1, "numbers"), 0);
	before = array;
	assert_int_equal(COMMON_VECTOR_RESERVE(array, capacity, SIZE_MAX / 8 + 2, "numbers"), PTL_NO_MEMORY);
	assert_non_null(strstr(ptl_error_text(), "numbers"));
	assert_int_equal(COMMON_VECTOR_RESERVE(array, capacity, SIZE_MAX, "numbers"), PTL_NO_MEMORY);
	assert_ptr_equal(array, before);
	assert_int_equal(capacity, COMMON_VECTOR_FIRST);
	assert_int_equal(COMMON_VECTOR_RESERVE(text, few, many, "text"), PTL_NO_MEMORY);
	assert_null(text);
	assert_int_equal(few, 0);
	free(array);
}

static void next_capacity(void **state)
{
	(void)state;
	assert_int_equal(common_vector_capacity(0, 1, SIZE_MAX), COMMON_VECTOR_FIRST);
	assert_int_equal(common_vector_capacity(16, 17, SIZE_MAX), 32);
	assert_int_equal(common_vector_capacity(16, 100, SIZE_MAX), 100);
	assert_int_equal(common_vector_capacity(16, 17, 20), 20);
	assert_int_equal(common_vector_capacity(16, 21, 20), 0);
	assert_int_equal(common_vector_capacity(0, 1, 3), 3);
	assert_true(common_vector_capacity(SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 2, SIZE_MAX) == SIZE_MAX);
}

/* Without a capacity, at most an eighth is unused. A sanitizer checks accesses. */
static void by_count(void **state)
{
	uint64_t *array = NULL;

	(void)state;
	for (size_t i = 0; i < 100000; i++) {
		assert_true(common_vector_room(&array, i, sizeof(*array)));
		array[i] = i;
		assert_true(common_vector_step(i) <= (i < 128 ? 16 : i / 8));
	}
	for (size_t i = 0; i < 100000; i++)
		assert_int_equal(array[i], i);
	assert_false(common_vector_room(&array, (size_t)1 << 61, sizeof(*array)));
	assert_int_equal(array[99999], 99999);
	free(array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows),         cmocka_unit_test(grows_by_many), cmocka_unit_test(refuses),
		cmocka_unit_test(next_capacity), cmocka_unit_test(by_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
