/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of records that are packed and go to a file, against an array: calls begin, go on, end, are cut off, and are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/call/call_pack.h"

/* more records than are kept in memory */
#define RECORDS 1200000u
/* nested calls; more open calls than are kept in memory */
#define DEEP 200000u
#define LONG_CUT 20000u /* one of LONG_CUT calls is cut off where many calls end, with a large subtree */

static uint32_t random_state = 1;

static uint32_t pick(uint32_t below)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)random_state * below >> 32);
}

static struct analysis_call_record *expected;
static size_t count, packed_cuts, filed_cuts, packed_changes, packed_stacks;

/* Numbers of open calls, innermost last, and each call's last callee; 0: no callee. */
static size_t *open, *last, depth;

/* Returns a number of random magnitude. */
static uint64_t number(void)
{
	const uint64_t bits = (uint64_t)pick(UINT32_MAX) << 32 | pick(UINT32_MAX);

	return pick(2) ? bits >> pick(64) : 0;
}

static struct analysis_call_record *add(struct analysis_record_list *list, uint8_t kind)
{
	struct analysis_call_record *record = analysis_record_list_add(list), *copy = &expected[count++];

	assert_non_null(record);
	memset(copy, 0, sizeof(*copy));
	copy->start = count * 10 + number() % 5;
	copy->function = (uint32_t)number();
	copy->depth = (int32_t)number() % 1000;
	copy->stack = pick(20) ? 0 : (uint32_t)number();
	copy->repeats = number();
	copy->kind = kind;
	if (kind == ANALYSIS_RECORD_EVENT)
		copy->lines = (const uint8_t *)expected + pick(UINT32_MAX);
	*record = *copy;
	return record;
}

static void begin(struct analysis_record_list *list)
{
	if (!pick(8))
		(void)add(list, ANALYSIS_RECORD_STACK);
	(void)add(list, ANALYSIS_RECORD_CALL);
	open[depth] = count - 1;
	last[depth++] = 0;
}

/* Changes a changeable record, or the last record, which may already be packed if its successors were cut off. */
static void change(struct analysis_record_list *list, size_t index)
{
	struct analysis_call_record *record;

	record = analysis_record_list_at(list, index);
	if (!record) {
		assert_true(index == count - 1 && index < list->packed &&
			    expected[index].kind != ANALYSIS_RECORD_STACK);
		return;
	}
	packed_changes += index < list->packed;
	assert_int_equal(record->start, expected[index].start);
	assert_int_equal(record->repeats, expected[index].repeats);
	record->repeats = expected[index].repeats = number();
	record->instructions = expected[index].instructions = number();
	if (record->kind != ANALYSIS_RECORD_STACK || index < count - 1)
		return;
	packed_stacks += index < list->packed;
	record->start = expected[index].start = number();
	record->stack = expected[index].stack = pick(5);
}

/* Ends the innermost call; may cut it off with all callees. */
static void end(struct analysis_record_list *list, uint32_t cut_one_of)
{
	const size_t index = open[--depth];
	struct analysis_call_record *record = analysis_record_list_at(list, index);
	struct analysis_call_record *copy = &expected[index];

	copy->self_time = number();
	copy->wall = number();
	copy->self_instructions = number();
	copy->children = number();
	copy->flags = (uint16_t)number();
	copy->hidden = !pick(3);
	copy->end = count;
	assert_int_equal(record->function, copy->function);
	*record = *copy;
	if (!pick(cut_one_of)) {
		packed_cuts += index < list->packed;
		filed_cuts += list->filed && index < list->packed &&
			      list->kept[list->active[list->active_count - 1]].at < list->filed;
		count = index;
		analysis_record_list_cut(list, index);
		if (count)
			change(list, count - 1);
	} else if (depth) {
		last[depth - 1] = index;
		analysis_record_list_at(list, open[depth - 1])->last = index;
		expected[open[depth - 1]].last = index;
	}
}

static void assert_same(const struct analysis_call_record *record, size_t index)
{
	struct analysis_call_record copy = *record;

	if (copy.kind != ANALYSIS_RECORD_EVENT)
		copy.shape = 0;
	assert_memory_equal(&copy, &expected[index], sizeof(copy));
}

static void read_all(const struct analysis_record_list *list)
{
	struct analysis_record_reader reader = {.list = list};
	const struct analysis_call_record *record;
	size_t index = 0;

	assert_int_equal(list->count, count);
	while ((record = analysis_record_next(&reader)) != NULL)
		assert_same(record, index++);
	assert_int_equal(index, count);
}

/* Returns an open call, its last callee, or the last record. */
static size_t changeable(void)
{
	const size_t level = depth ? depth - 1 - pick((uint32_t)(depth < 30 || !pick(50) ? depth : 30)) : 0;

	if (!depth || !pick(3))
		return count - 1;
	return pick(2) || !last[level] ? open[level] : last[level];
}

/* Adds records up to `most`. Until `deep` calls are open, more calls begin than end. */
static void make(struct analysis_record_list *list, size_t most, size_t deep)
{
	while (count < most) {
		const uint32_t kind = pick(40);

		if (depth == deep)
			for (size_t left = pick(4) ? deep / 2 : pick((uint32_t)deep); depth > left;)
				end(list, deep > 1000 ? LONG_CUT : 8);
		if (kind < 2)
			(void)add(list, kind ? ANALYSIS_RECORD_STACK : ANALYSIS_RECORD_EVENT);
		else if (kind < 16 && depth)
			end(list, 8);
		else
			begin(list);
		if (count && kind % 4 == 0)
			change(list, changeable());
	}
	while (depth)
		end(list, LONG_CUT);
}

static void check(size_t most, size_t deep, bool in_file)
{
	struct analysis_record_list list = {0};

	expected = calloc(most + 2, sizeof(*expected));
	open = calloc(deep + 1, sizeof(*open));
	last = calloc(deep + 1, sizeof(*last));
	assert_true(expected && open && last);
	count = depth = 0;
	make(&list, most, deep);
	assert_int_equal(analysis_record_list_complete(&list), 0);
	read_all(&list);
	/* Records may be read again from the beginning after they were given back. */
	read_all(&list);
	assert_int_equal(analysis_record_list_expand(&list, in_file), 0);
	assert_int_equal(list.count, count);
	for (size_t i = 0; i < count; i++)
		assert_same(&list.records[i], i);
	analysis_record_list_free(&list);
	free(expected);
	free(open);
	free(last);
}

static void test_short(void **state)
{
	(void)state;
	check(1, 10, false);
	check(1000, 10, false);
	check(1, 10, true);
	check(1000, 10, true);
}

static void test_long(void **state)
{
	(void)state;
	packed_cuts = filed_cuts = packed_changes = packed_stacks = 0;
	check(RECORDS, 50, false);
	assert_true(packed_cuts > 0 && packed_changes > 0);
}

static void test_deep(void **state)
{
	(void)state;
	packed_cuts = filed_cuts = packed_changes = packed_stacks = 0;
	check(RECORDS, DEEP, false);
	assert_true(packed_cuts > 0 && filed_cuts > 0 && packed_changes > 0 && packed_stacks > 0);
}

static void test_empty(void **state)
{
	struct analysis_record_list list = {0};

	(void)state;
	assert_int_equal(analysis_record_list_complete(&list), 0);
	assert_int_equal(analysis_record_list_expand(&list, true), 0);
	assert_int_equal(list.count, 0);
	analysis_record_list_free(&list);
}

static void test_no_room(void **state)
{
	struct analysis_record_list list = {0};
	struct analysis_call_record *record;

	(void)state;
	setenv("TMPDIR", "/nonexistent/folder", 1);
	for (uint64_t i = 0; (record = analysis_record_list_add(&list)) != NULL; i++) {
		assert_true(i < 10000000);
		*record = (struct analysis_call_record){.start = number(), .end = i + 1, .repeats = number()};
	}
	assert_true(list.packed > 0 && !list.has_file);
	assert_true(analysis_record_list_expand(&list, true) < 0);
	unsetenv("TMPDIR");
	analysis_record_list_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short), cmocka_unit_test(test_long),    cmocka_unit_test(test_deep),
		cmocka_unit_test(test_empty), cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
