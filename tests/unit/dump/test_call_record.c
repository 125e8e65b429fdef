/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of records that go to a file, against an array: added, changed, cut, and read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dump/call/call_record.h"

/* More than is kept in memory. */
#define RECORDS 800000u
#define LONG_CUT 5000u /* now and then, one that reaches into what is in the file */

static uint32_t random_state = 1;

static uint32_t pick(uint32_t below)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)random_state * below >> 32);
}

static uint64_t *starts;
static size_t count, filed_cuts;

static void add(struct dump_record_list *list)
{
	struct dump_call_record *record = dump_record_list_add(list);

	assert_non_null(record);
	starts[count] = (uint64_t)pick(UINT32_MAX) << 20 | count;
	*record = (struct dump_call_record){.start = starts[count], .repeats = count};
	count++;
}

/* Any record, most often one of the last. */
static void change(struct dump_record_list *list)
{
	const uint32_t reach = pick(100) ? 50 : (uint32_t)count;
	const size_t index = count - 1 - pick(reach < count ? reach : (uint32_t)count);
	struct dump_call_record *record = dump_record_list_at(list, index);

	assert_int_equal(record->start, starts[index]);
	assert_int_equal(record->repeats, index);
	record->start = ++starts[index];
}

static void cut(struct dump_record_list *list)
{
	const uint32_t reach = pick(2000) ? 20 : LONG_CUT;

	count -= pick(reach < count ? reach : (uint32_t)count);
	filed_cuts += list->filed > count;
	dump_record_list_cut(list, count);
}

static void read_all(const struct dump_record_list *list)
{
	size_t passed = 0;

	assert_int_equal(list->count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(list->records[i].start, starts[i]);
		assert_int_equal(list->records[i].repeats, i);
		dump_record_list_pass(list, i, &passed);
	}
}

static void check(size_t most, bool in_file, bool expected)
{
	struct dump_record_list list = {0};

	starts = calloc(most, sizeof(*starts));
	assert_non_null(starts);
	count = 0;
	while (count < most) {
		add(&list);
		if (!pick(4))
			change(&list);
		if (!pick(50))
			cut(&list);
	}
	assert_int_equal(dump_record_list_complete(&list, in_file), 0);
	assert_int_equal(list.mapped, expected);
	read_all(&list);
	/* It may be read again from the beginning, where it was given back. */
	read_all(&list);
	dump_record_list_free(&list);
	free(starts);
}

static void test_short(void **state)
{
	(void)state;
	check(1, false, false);
	check(1000, false, false);
	check(1, true, true);
	check(1000, true, true);
}

static void test_long(void **state)
{
	(void)state;
	filed_cuts = 0;
	check(RECORDS, false, true);
	assert_true(filed_cuts > 0);
}

static void test_empty(void **state)
{
	struct dump_record_list list = {0};

	(void)state;
	assert_int_equal(dump_record_list_complete(&list, true), 0);
	assert_int_equal(list.count, 0);
	dump_record_list_free(&list);
}

static void test_no_room(void **state)
{
	struct dump_record_list list = {0};

	(void)state;
	setenv("TMPDIR", "/nonexistent/folder", 1);
	assert_non_null(dump_record_list_add(&list));
	assert_true(dump_record_list_complete(&list, true) < 0);
	unsetenv("TMPDIR");
	dump_record_list_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
