/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that arenas reuse the memory of earlier arenas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "flow/native/cache/arena.h"

#define PIECE ((size_t)64 << 10)
#define MANY 200 /* pieces: several huge pages */

static void fill(struct native_arena *arena, unsigned char *pieces[MANY])
{
	for (unsigned i = 0; i < MANY; i++) {
		pieces[i] = native_arena_take(arena, PIECE);
		assert_non_null(pieces[i]);
		memset(pieces[i], (int)i, PIECE);
	}
}

/* Returns the number of spare chunks, by taking and freeing them. */
static unsigned spare(struct native_arena *arena)
{
	unsigned count = 0;

	for (; arena->spare; count++)
		assert_non_null(native_arena_take(arena, NATIVE_HUGE_PAGE / 2 + PIECE));
	native_arena_free(arena);
	return count;
}

static void pages_are_used_again(void **state)
{
	struct native_arena arena = {0}, retired = {0};
	unsigned char *pieces[MANY], *again[MANY];
	unsigned same = 0;

	(void)state;
	fill(&arena, pieces);
	native_arena_move(&arena, &retired);
	assert_null(arena.chunk);
	native_arena_reuse(&retired, &arena, SIZE_MAX);
	assert_null(retired.chunk);
	assert_int_equal(arena.total, 0);
	fill(&arena, again);
	for (unsigned i = 0; i < MANY; i++)
		for (unsigned k = 0; k < MANY; k++)
			same += again[i] == pieces[k];
	/* All chunks except the small first chunk of each arena. */
	assert_true(same > MANY - 8);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(again[i][PIECE - 1], i);
	native_arena_free(&arena);
}

static void only_so_much_is_kept(void **state)
{
	struct native_arena arena = {0}, retired = {0};
	unsigned char *pieces[MANY];

	(void)state;
	fill(&retired, pieces);
	native_arena_reuse(&retired, &arena, 2 * NATIVE_HUGE_PAGE);
	fill(&retired, pieces);
	native_arena_reuse(&retired, &arena, 2 * NATIVE_HUGE_PAGE);
	assert_int_equal(spare(&arena), 2);
}

static void larger_pieces_have_chunks_of_their_own(void **state)
{
	struct native_arena arena = {0}, retired = {0};
	unsigned char *pieces[MANY], *large;

	(void)state;
	fill(&retired, pieces);
	native_arena_reuse(&retired, &arena, SIZE_MAX);
	large = native_arena_take(&arena, 4 * NATIVE_HUGE_PAGE);
	assert_non_null(large);
	memset(large, 1, 4 * NATIVE_HUGE_PAGE);
	fill(&arena, pieces);
	native_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_used_again),
		cmocka_unit_test(only_so_much_is_kept),
		cmocka_unit_test(larger_pieces_have_chunks_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
