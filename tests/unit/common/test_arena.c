/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests arenas: pieces do not overlap, are aligned and cleared on request, and are freed at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/arena.h"
#include "common/error.h"

static void pieces(void **state)
{
	struct common_arena arena = {.block_size = 1000};
	uint8_t *all[500];

	(void)state;
	for (size_t i = 0; i < 500; i++) {
		all[i] = common_arena_take(&arena, i);
		assert_non_null(all[i]);
		assert_int_equal((uintptr_t)all[i] % 16, 0);
		memset(all[i], (int)i, i);
	}
	for (size_t i = 0; i < 500; i++)
		for (size_t k = 0; k < i; k++)
			assert_int_equal(all[i][k], (uint8_t)i);
	assert_true(arena.total > 500 * 499 / 2);
	common_arena_free(&arena);
	assert_null(arena.blocks);
	assert_int_equal(arena.total, 0);
	assert_int_equal(arena.block_size, 1000);
}

static void cleared(void **state)
{
	static const uint8_t zeros[300];
	struct common_arena arena = {0};
	void *first = common_arena_take(&arena, 300);

	(void)state;
	memset(first, 0xff, 300);
	common_arena_reset(&arena);
	assert_ptr_equal(common_arena_zeroed(&arena, 300), first);
	assert_memory_equal(first, zeros, 300);
	assert_string_equal(common_arena_copy(&arena, "abcd", 3), "abc");
	assert_string_equal(common_arena_copy(&arena, NULL, 0), "");
	/* A piece larger than a block is not kept. */
	assert_non_null(common_arena_take(&arena, 100000));
	common_arena_reset(&arena);
	assert_null(arena.blocks);
	common_arena_free(&arena);
}

static void too_large(void **state)
{
	struct common_arena arena = {0};

	(void)state;
	assert_null(common_arena_take(&arena, SIZE_MAX));
	assert_null(common_arena_take(&arena, SIZE_MAX - 15));
	assert_null(common_arena_zeroed(&arena, SIZE_MAX / 2));
	assert_null(common_arena_copy(&arena, "", SIZE_MAX));
	assert_int_equal(arena.total, 0);
}

static void arrays(void **state)
{
	struct common_arena arena = {0};
	uint32_t *list = NULL, *before;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_true(common_arena_room(&arena, &list, i, sizeof(*list)));
		assert_int_equal(list[i], 0);
		list[i] = i + 1;
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(list[i], i + 1);
	before = list;
	assert_false(common_arena_room(&arena, &list, (size_t)1 << 62, sizeof(*list)));
	assert_ptr_equal(list, before);
	common_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces),
		cmocka_unit_test(cleared),
		cmocka_unit_test(arrays),
		cmocka_unit_test(too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
