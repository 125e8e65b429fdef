/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests tables of paths: growth, keys that differ only in the parent, missing keys, the largest number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/call/path_table.h"

#define COUNT 20000u

struct node {
	struct analysis_path_key key;
	uint64_t other; /* not part of the key */
};

static struct node nodes[COUNT];
static const struct analysis_path_nodes all = {nodes, sizeof(nodes[0])};

static struct analysis_path_key key_of(uint32_t number)
{
	return (struct analysis_path_key){.parent = number / 3, .what = number % 7};
}

static void test_growth(void **state)
{
	struct analysis_path_table table = {0};

	(void)state;
	assert_int_equal(analysis_path_table_find(&table, all, key_of(1)), 0);
	for (uint32_t i = 1; i < COUNT; i++) {
		nodes[i] = (struct node){.key = key_of(i), .other = i};
		assert_int_equal(analysis_path_table_find(&table, all, nodes[i].key), 0);
		assert_int_equal(analysis_path_table_put(&table, all, i), 0);
	}
	for (uint32_t i = 1; i < COUNT; i++) {
		const struct analysis_path_key swapped = {.parent = key_of(i).what, .what = key_of(i).parent + 7};

		assert_int_equal(analysis_path_table_find(&table, all, key_of(i)), i);
		assert_int_equal(analysis_path_table_find(&table, all, swapped), 0);
	}
	assert_int_equal(table.used, COUNT - 1);
	analysis_path_table_free(&table);
	assert_int_equal(analysis_path_table_find(&table, all, key_of(1)), 0);
}

static void test_largest(void **state)
{
	struct node *many = calloc((size_t)ANALYSIS_PATH_NUMBER_MAX + 1, sizeof(*many));
	const struct analysis_path_nodes nodes_of_many = {many, sizeof(*many)};
	struct analysis_path_table table = {0};

	(void)state;
	assert_non_null(many);
	for (uint32_t i = 0; i < 64; i++) {
		many[ANALYSIS_PATH_NUMBER_MAX - i].key = key_of(i);
		assert_int_equal(analysis_path_table_put(&table, nodes_of_many, ANALYSIS_PATH_NUMBER_MAX - i), 0);
	}
	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(analysis_path_table_find(&table, nodes_of_many, key_of(i)),
				 ANALYSIS_PATH_NUMBER_MAX - i);
	analysis_path_table_free(&table);
	free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_growth), cmocka_unit_test(test_largest)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
