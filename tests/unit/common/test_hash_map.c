/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the hash maps and of the index of rows: growth, removal, walks, awkward keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash_map.h"
#include "common/row_index.h"

#define COUNT 100000u

static void empty_map(void **state)
{
	struct common_hash_map map = {0};
	uint64_t key, value;
	size_t at = 0;

	(void)state;
	assert_null(common_hash_map_get(&map, 0));
	assert_false(common_hash_map_remove(&map, 0));
	assert_false(common_hash_map_next(&map, &at, &key, &value));
	common_hash_map_free(&map);
}

static void put_and_get(void **state)
{
	struct common_hash_map map = {0};

	(void)state;
	for (uint64_t i = 0; i < COUNT; i++)
		assert_int_equal(common_hash_map_put(&map, i * 4096, i), 0);
	assert_int_equal(map.used, COUNT);
	for (uint64_t i = 0; i < COUNT; i++) {
		assert_non_null(common_hash_map_get(&map, i * 4096));
		assert_true(*common_hash_map_get(&map, i * 4096) == i);
		assert_null(common_hash_map_get(&map, i * 4096 + 1));
	}
	assert_int_equal(common_hash_map_put(&map, 4096, 7), 0);
	assert_int_equal(map.used, COUNT);
	assert_int_equal(*common_hash_map_get(&map, 4096), 7);
	common_hash_map_free(&map);
	assert_null(common_hash_map_get(&map, 4096));
}

/* All keys and values are ordinary. */
static void extreme_keys(void **state)
{
	struct common_hash_map map = {0};

	(void)state;
	assert_int_equal(common_hash_map_put(&map, 0, UINT64_MAX), 0);
	assert_int_equal(common_hash_map_put(&map, UINT64_MAX, 0), 0);
	assert_true(*common_hash_map_get(&map, 0) == UINT64_MAX);
	assert_true(*common_hash_map_get(&map, UINT64_MAX) == 0);
	assert_true(common_hash_map_remove(&map, 0));
	assert_false(common_hash_map_remove(&map, 0));
	assert_null(common_hash_map_get(&map, 0));
	assert_non_null(common_hash_map_get(&map, UINT64_MAX));
	common_hash_map_free(&map);
}

/* Random puts and removals, compared with a plain array after every step. */
static void against_a_model(void **state)
{
	enum { KEYS = 64 };
	struct common_hash_map map = {0};
	bool present[KEYS] = {false};
	uint64_t values[KEYS] = {0};
	uint32_t random = 1;

	(void)state;
	for (uint64_t step = 0; step < 20000; step++) {
		size_t used = 0;
		uint32_t key;

		random = random * 1664525 + 1013904223;
		key = random >> 16 & (KEYS - 1);
		if (random >> 31) {
			assert_int_equal(common_hash_map_put(&map, key, step), 0);
			present[key] = true;
			values[key] = step;
		} else {
			assert_int_equal(common_hash_map_remove(&map, key), present[key]);
			present[key] = false;
		}
		for (size_t i = 0; i < KEYS; i++) {
			const uint64_t *value = common_hash_map_get(&map, i);

			assert_int_equal(value != NULL, present[i]);
			if (value)
				assert_true(*value == values[i]);
			used += present[i];
		}
		assert_int_equal(map.used, used);
	}
	common_hash_map_free(&map);
}

static void walk(void **state)
{
	struct common_hash_map map = {0};
	uint64_t key, value, sum = 0;
	size_t at = 0, count = 0;

	(void)state;
	for (uint64_t i = 1; i <= 1000; i++)
		assert_int_equal(common_hash_map_put(&map, i, i * i), 0);
	while (common_hash_map_next(&map, &at, &key, &value)) {
		assert_true(value == key * key);
		sum += key;
		count++;
	}
	assert_int_equal(count, 1000);
	assert_int_equal(sum, 500500);
	common_hash_map_free(&map);
}

static void byte_strings(void **state)
{
	struct common_byte_map map = {0};
	char text[32];

	(void)state;
	assert_null(common_byte_map_get(&map, "a", 1));
	for (uint64_t i = 0; i < COUNT; i++) {
		const int size = snprintf(text, sizeof(text), "/usr/lib/lib%llu.so", (unsigned long long)i);

		assert_int_equal(common_byte_map_put(&map, text, (size_t)size, i), 0);
	}
	for (uint64_t i = 0; i < COUNT; i++) {
		const int size = snprintf(text, sizeof(text), "/usr/lib/lib%llu.so", (unsigned long long)i);

		assert_non_null(common_byte_map_get(&map, text, (size_t)size));
		assert_true(*common_byte_map_get(&map, text, (size_t)size) == i);
	}
	assert_int_equal(map.used, COUNT);
	common_byte_map_free(&map);
}

/* Keys differ by length and by every byte, also by zeros; the empty key is valid. */
static void byte_string_edges(void **state)
{
	struct common_byte_map map = {0};
	char key[] = "own";

	(void)state;
	for (size_t size = 0; size <= 17; size++)
		assert_int_equal(common_byte_map_put(&map, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", size, size), 0);
	for (size_t size = 0; size <= 17; size++)
		assert_true(*common_byte_map_get(&map, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", size) == size);
	assert_true(*common_byte_map_get(&map, NULL, 0) == 0);
	assert_null(common_byte_map_get(&map, "\0\0\0\1", 4));
	assert_int_equal(common_byte_map_put(&map, key, 3, 99), 0);
	memset(key, 'x', 3);
	assert_non_null(common_byte_map_get(&map, "own", 3));
	assert_int_equal(common_byte_map_put(&map, "own", 3, 100), 0);
	assert_true(*common_byte_map_get(&map, "own", 3) == 100);
	assert_int_equal(map.used, 19);
	common_byte_map_free(&map);
	assert_int_equal(map.used, 0);
}

/* ---- rows -------------------------------------------------------------------------------------------- */

struct row {
	uint32_t key;
	uint32_t more;
};

static void rows_are_found(void **state)
{
	struct common_row_index index = {0};
	struct row *rows = calloc(COUNT, sizeof(*rows));
	struct common_rows all = {rows, sizeof(*rows), sizeof(rows->key)};
	uint32_t key = 7;

	(void)state;
	assert_non_null(rows);
	assert_int_equal(common_row_index_find(&index, &all, &key), COMMON_NO_ROW);
	common_row_index_remove(&index, &all, &key);
	for (uint32_t i = 0; i < COUNT; i++) {
		rows[i] = (struct row){i * 64, i};
		assert_int_equal(common_row_index_add(&index, &all, i), 0);
	}
	assert_true(index.capacity * sizeof(*index.slots) <= 12 * (size_t)COUNT);
	for (uint32_t i = 0; i < COUNT; i++) {
		key = i * 64;
		assert_int_equal(common_row_index_find(&index, &all, &key), i);
		key++;
		assert_int_equal(common_row_index_find(&index, &all, &key), COMMON_NO_ROW);
	}
	common_row_index_free(&index);
	assert_int_equal(common_row_index_find(&index, &all, &key), COMMON_NO_ROW);
	free(rows);
}

/* After any removal, all other rows are found. */
static void rows_are_taken_out(void **state)
{
	struct row rows[1000];
	struct common_row_index index = {0};
	const struct common_rows all = {rows, sizeof(*rows), sizeof(rows->key)};

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		rows[i] = (struct row){i, i};
		assert_int_equal(common_row_index_add(&index, &all, i), 0);
	}
	for (uint32_t i = 0; i < 1000; i += 3)
		common_row_index_remove(&index, &all, &i);
	assert_int_equal(index.used, 1000 - 334);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(common_row_index_find(&index, &all, &i), i % 3 ? i : COMMON_NO_ROW);
	for (uint32_t i = 0; i < 1000; i += 3)
		assert_int_equal(common_row_index_add(&index, &all, i), 0);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(common_row_index_find(&index, &all, &i), i);
	common_row_index_free(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_map),
		cmocka_unit_test(put_and_get),
		cmocka_unit_test(extreme_keys),
		cmocka_unit_test(against_a_model),
		cmocka_unit_test(walk),
		cmocka_unit_test(byte_strings),
		cmocka_unit_test(byte_string_edges),
		cmocka_unit_test(rows_are_found),
		cmocka_unit_test(rows_are_taken_out),
	};

	return cmocka_run_group_tests_name("hash_map", tests, NULL, NULL);
}
