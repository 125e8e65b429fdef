/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the memory of decompressed buffers: slots, and pieces without common bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "format/reader/pool.h"

#define PIECES 40
#define LARGE ((size_t)512 << 10)

static bool is_slot(const struct format_pool *pool, const void *piece)
{
	return pool->memory && (uintptr_t)piece - (uintptr_t)pool->memory < (size_t)8 << 20;
}

static void no_slots_unless_wanted(void **state)
{
	struct format_pool pool = {0};
	void *piece = format_pool_take(&pool, LARGE);

	(void)state;
	assert_non_null(piece);
	assert_null(pool.memory);
	format_pool_give(&pool, piece);
	format_pool_free(&pool);
}

static void sizes_that_have_slots(void **state)
{
	static const struct {
		size_t size;
		bool slot;
	} cases[] = {
		{1, false}, {100000, false}, {LARGE + 100, true}, {300000, true}, {1, false}, {LARGE * 3, false},
	};
	struct format_pool pool = {.wanted = true};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		void *piece = format_pool_take(&pool, cases[i].size);

		memset(piece, 0x55, cases[i].size);
		assert_int_equal(is_slot(&pool, piece), cases[i].slot);
		format_pool_give(&pool, piece);
	}
	format_pool_free(&pool);
}

/* More pieces than slots; some pieces are freed and taken again. */
static void pieces_do_not_overlap(void **state)
{
	struct format_pool pool = {.wanted = true};
	uint8_t *pieces[PIECES];
	size_t slots = 0;

	(void)state;
	for (size_t i = 0; i < PIECES; i++) {
		pieces[i] = format_pool_take(&pool, LARGE);
		memset(pieces[i], (int)i, LARGE);
		slots += is_slot(&pool, pieces[i]);
	}
	assert_true(slots > 10 && slots < 16);
	for (size_t round = 0; round < 200; round++) {
		const size_t i = round * 7 % PIECES, k = (round * 11 + 3) % PIECES;

		format_pool_give(&pool, pieces[i]);
		if (k != i)
			format_pool_give(&pool, pieces[k]);
		pieces[i] = format_pool_take(&pool, LARGE);
		memset(pieces[i], (int)i, LARGE);
		if (k != i) {
			pieces[k] = format_pool_take(&pool, LARGE);
			memset(pieces[k], (int)k, LARGE);
		}
	}
	for (size_t i = 0; i < PIECES; i++) {
		for (size_t at = 0; at < LARGE; at += 509)
			assert_int_equal(pieces[i][at], i);
		slots -= is_slot(&pool, pieces[i]);
	}
	assert_int_equal(slots, 0);
	for (size_t i = 0; i < PIECES; i++)
		format_pool_give(&pool, pieces[i]);
	format_pool_free(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_slots_unless_wanted),
		cmocka_unit_test(sizes_that_have_slots),
		cmocka_unit_test(pieces_do_not_overlap),
	};

	return cmocka_run_group_tests_name("reader_pool", tests, NULL, NULL);
}
