/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests tables that number things by key: growth, keys of several words, clearing, colliding keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/number_table.h"

#define COUNT 5000u
#define COLLIDING (COMMON_NUMBER_PROBES + 8)

struct thing {
	uint64_t key[2];
	uint64_t other; /* not part of the key */
};

struct things {
	struct thing list[COUNT];
	uint32_t count; /* number of things, including number 0 */
	struct common_number_table numbers;
};

static struct things things;

static int setup(void **state)
{
	(void)state;
	things = (struct things){.count = 1};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	common_number_table_free(&things.numbers);
	return 0;
}

static uint32_t take(uint64_t first, uint64_t second)
{
	const struct thing like = {{first, second}, things.count};
	const struct common_numbered array = {things.list, sizeof(like), 2};
	const uint32_t number = common_number_of(&things.numbers, array, things.count, &like);

	if (number == things.count)
		things.list[things.count++] = like;
	return number;
}

static void same_things_have_same_numbers(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 2; round++)
		for (uint32_t i = 1; i < COUNT; i++)
			assert_int_equal(take(i % 2, i / 2 * 4096), i);
	assert_int_equal(things.count, COUNT);
	assert_true(things.numbers.room >= COUNT);
}

static void all_of_the_key_counts(void **state)
{
	(void)state;
	assert_int_equal(take(0, 0), 1);
	assert_int_equal(take(0, 1), 2);
	assert_int_equal(take(1, 0), 3);
	assert_int_equal(take(0, 1), 2);
	/* Number 0 is not in the table: an equal thing gets a number of its own. */
	assert_int_equal(take(0, 0), 1);
}

static void cleared_is_empty(void **state)
{
	(void)state;
	common_number_table_clear(&things.numbers);
	for (uint32_t i = 1; i < COUNT; i++)
		take(i, 0);
	common_number_table_clear(&things.numbers);
	things.count = 1;
	assert_int_equal(take(7, 0), 1);
	assert_int_equal(take(1, 0), 2);
	assert_int_equal(take(7, 0), 1);
}

/* Returns the smallest key above `before` that hashes to slot 0 of a table with 256 slots. */
static uint64_t next_colliding(uint64_t before)
{
	uint64_t key[2] = {before, 0};

	do
		key[0]++;
	while (common_number_hash(key, 2) & 0xff);
	return key[0];
}

static void colliding_keys_are_forgotten(void **state)
{
	uint64_t keys[COLLIDING] = {next_colliding(0)};

	(void)state;
	for (unsigned i = 1; i < COLLIDING; i++)
		keys[i] = next_colliding(keys[i - 1]);
	for (unsigned i = 0; i < COLLIDING; i++)
		assert_int_equal(take(keys[i], 0), i + 1);
	assert_int_equal(things.numbers.mask, 0xff);
	/* Keys far from their slot are added again each time. */
	for (unsigned i = 0; i < COLLIDING; i++) {
		const uint32_t before = things.count, number = take(keys[i], 0);

		assert_int_equal(number, i < COMMON_NUMBER_PROBES ? i + 1 : before);
	}
	assert_int_equal(things.count, 1 + COLLIDING + 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(same_things_have_same_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(all_of_the_key_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(cleared_is_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(colliding_keys_are_forgotten, setup, teardown),
	};

	return cmocka_run_group_tests_name("number_table", tests, NULL, NULL);
}
