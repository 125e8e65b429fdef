/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of call trees against a list of all rows, made anew after each change: any tree, opened and closed at random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "dump/browse/call_rows.h"

#define THREADS 3
#define RECORDS_MAX 700 /* records per thread: more than two marks' children at once */
#define ROWS_MAX (THREADS * (RECORDS_MAX + 8))

static unsigned seed = 7;

static unsigned pick(unsigned below)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % below;
}

/* Adds the callees of a call, recursively. */
static void grow(struct analysis_record_list *list, int32_t depth, unsigned most)
{
	const unsigned count = depth == 0 ? 1 + pick(200) : pick(most);

	for (unsigned i = 0; i < count && list->count < RECORDS_MAX; i++) {
		const size_t index = list->count++;
		struct analysis_call_record *record = &list->records[index];

		*record = (struct analysis_call_record){.depth = depth, .repeats = 1, .function = pick(20)};
		record->instructions = pick(1000);
		if (pick(12) == 0)
			record->kind = ANALYSIS_RECORD_STACK;
		else if (depth < 6)
			grow(list, depth + 1, depth == 2 ? 150 : 4);
		record->end = record->kind == ANALYSIS_RECORD_CALL ? list->count : 0;
	}
}

static void make(struct dump_browse_calls *calls)
{
	calls->threads = calloc(THREADS, sizeof(*calls->threads));
	assert_non_null(calls->threads);
	for (calls->count = 0; calls->count < THREADS; calls->count++) {
		struct dump_browse_thread *thread = &calls->threads[calls->count];

		thread->list.records = calloc(RECORDS_MAX, sizeof(*thread->list.records));
		thread->below_count = pick(3);
		thread->below = calloc(thread->below_count + 1, sizeof(*thread->below));
		thread->belows = calloc(1, sizeof(*thread->belows));
		assert_true(thread->list.records && thread->below && thread->belows);
		thread->belows[0] = (uint32_t)thread->below_count;
		thread->belows_count = 1;
		if (pick(4))
			grow(&thread->list, 0, 4);
	}
}

/* ---- the list ------------------------------------------------------------------------------------ */

static bool is_open(const struct dump_browse_calls *calls, dump_browse_row row)
{
	struct dump_browse_place place;

	dump_browse_calls_place(calls, row, &place);
	return place.open;
}

/* Lists the visible rows by their levels: rows deeper than a closed row are hidden. */
static size_t list_rows(const struct dump_browse_calls *calls, dump_browse_row *rows)
{
	size_t count = 0;

	for (size_t t = 0; t < calls->count; t++) {
		const struct dump_browse_thread *thread = &calls->threads[t];
		const size_t all = 1 + thread->below_count + thread->list.count;
		size_t hidden = SIZE_MAX; /* level from which rows are hidden */

		for (size_t number = 0; number < all; number++) {
			const dump_browse_row row = (uint64_t)t << 40 | number;
			struct dump_browse_place place;

			dump_browse_calls_place(calls, row, &place);
			if (place.level >= hidden)
				continue;
			rows[count++] = row;
			hidden = place.open ? SIZE_MAX : place.level + 1;
		}
	}
	return count;
}

static void check(struct dump_browse_calls *calls, dump_browse_row *rows)
{
	const size_t count = list_rows(calls, rows);
	dump_browse_row row;

	assert_true(dump_browse_calls_first(calls, &row));
	for (size_t i = 0; i < count; i++) {
		assert_true(row == rows[i]);
		assert_true(dump_browse_calls_next(calls, &row) == (i + 1 < count));
	}
	row = rows[count - 1];
	for (size_t i = count; i-- > 0;) {
		assert_true(row == rows[i]);
		assert_true(dump_browse_calls_previous(calls, &row) == (i > 0));
	}
}

/* The parent is the nearest earlier row with a lower level. */
static void check_parents(struct dump_browse_calls *calls, const dump_browse_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct dump_browse_place place, above;
		dump_browse_row row = rows[i];
		size_t k = i;

		dump_browse_calls_place(calls, row, &place);
		if (!place.level) {
			assert_false(dump_browse_calls_parent(calls, &row));
			continue;
		}
		do
			dump_browse_calls_place(calls, rows[--k], &above);
		while (above.level >= place.level);
		assert_true(dump_browse_calls_parent(calls, &row));
		assert_true(row == rows[k]);
	}
}

static void opens_and_closes(void **state)
{
	dump_browse_row *rows = calloc(ROWS_MAX, sizeof(*rows));

	(void)state;
	assert_non_null(rows);
	for (unsigned round = 0; round < 40; round++) {
		struct dump_browse_calls calls = {0};

		make(&calls);
		check(&calls, rows);
		for (unsigned step = 0; step < 40; step++) {
			const size_t count = list_rows(&calls, rows);
			const dump_browse_row row = rows[pick((unsigned)count)];

			if (is_open(&calls, row) && pick(3) == 0)
				dump_browse_calls_close(&calls, row);
			else
				dump_browse_calls_open(&calls, row);
			check(&calls, rows);
		}
		check_parents(&calls, rows, list_rows(&calls, rows));
		dump_browse_calls_free(&calls);
	}
	free(rows);
}

/* ---- search -------------------------------------------------------------------------------------- */

static bool is_function(void *context, const struct analysis_call_record *record)
{
	return record->function == *(const uint32_t *)context;
}

static void finds(void **state)
{
	dump_browse_row *rows = calloc(ROWS_MAX, sizeof(*rows));

	(void)state;
	assert_non_null(rows);
	for (unsigned round = 0; round < 40; round++) {
		struct dump_browse_calls calls = {0};
		uint32_t function = pick(20);
		size_t expected = 0, found = 0, back = 0;
		dump_browse_row row = 0, last = 0;

		make(&calls);
		for (size_t t = 0; t < calls.count; t++) {
			for (size_t i = 0; i < calls.threads[t].list.count; i++)
				expected += calls.threads[t].list.records[i].kind == ANALYSIS_RECORD_CALL &&
					    calls.threads[t].list.records[i].function == function;
			for (size_t i = 0; i < calls.threads[t].below_count; i++)
				expected += calls.threads[t].below[i].function == function;
		}
		for (; dump_browse_calls_search(&calls, &row, false, is_function, &function); found++)
			last = row;
		assert_true(found == expected && (!found || row == last));
		/* All found rows are visible. */
		check(&calls, rows);
		row = last + 1;
		for (; found && dump_browse_calls_search(&calls, &row, true, is_function, &function); back++)
			;
		assert_true(back == found);
		dump_browse_calls_free(&calls);
	}
	free(rows);
}

static void finds_the_costliest(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		struct dump_browse_calls calls = {0};
		struct dump_browse_place place;
		dump_browse_row row = 0, next = 0;

		make(&calls);
		while (dump_browse_calls_costliest(&calls, &next)) {
			dump_browse_row parent = next;

			dump_browse_calls_place(&calls, next, &place);
			assert_true(dump_browse_calls_parent(&calls, &parent));
			assert_true(parent == row);
			row = next;
		}
		dump_browse_calls_free(&calls);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_and_closes),
		cmocka_unit_test(finds),
		cmocka_unit_test(finds_the_costliest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
