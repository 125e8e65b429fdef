/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the numbers of calls, and the nodes of a piece. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/call/call_summary_tree.h"

static struct analysis_summary_tree tree;

static int setup(void **state)
{
	(void)state;
	assert_int_equal(analysis_summary_tree_begin(&tree), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	analysis_summary_tree_free(&tree);
	return 0;
}

static uint32_t call(uint32_t parent, uint32_t function)
{
	const struct analysis_summary_call like = {.parent = parent, .function = function, .depth = 1};
	uint32_t number;

	assert_int_equal(analysis_summary_tree_call(&tree, &like, &number), 0);
	return number;
}

static void calls_have_one_number(void **state)
{
	const uint32_t a = call(0, 5), b = call(a, 5);

	(void)state;
	assert_int_equal(a, 1);
	assert_int_equal(b, 2);
	assert_int_equal(call(0, 5), a);
	assert_int_equal(call(a, 5), b);
}

static uint32_t enter(uint32_t from, uint32_t number)
{
	const struct analysis_summary_call like = {.parent = from, .function = number, .depth = 1};

	return analysis_summary_tree_enter(&tree, number, &like);
}

/*
 * More transfers than the index has nearby places for: missing entries are created again, and found entries are right.
 */
static void transfers_enter_the_call_that_they_entered_before(void **state)
{
	const uint32_t count = ANALYSIS_SUMMARY_CALLS_MAX / 2;
	uint32_t first, again = 0;

	(void)state;
	analysis_summary_tree_use_sites(&tree, 7);
	assert_int_equal(analysis_summary_tree_entered(&tree, 0, 1), 0);
	first = enter(0, 1);
	for (uint32_t number = 2; number <= count; number++)
		enter(number % 2 ? first : 0, number);
	for (uint32_t number = 1; number <= count; number++) {
		const uint32_t from = number > 1 && number % 2 ? first : 0;
		const uint32_t known = analysis_summary_tree_entered(&tree, from, number);
		const uint32_t entered = enter(from, number);

		if (known)
			assert_int_equal(known, entered);
		assert_int_equal(tree.calls[entered].parent, from);
		assert_int_equal(tree.calls[entered].function, number);
		again += entered > count;
	}
	assert_true(again < count / 100);
	/* Sites of other runs are unknown. */
	analysis_summary_tree_use_sites(&tree, 8);
	assert_int_equal(analysis_summary_tree_entered(&tree, 0, 1), 0);
}

static void nodes_are_in_the_order_of_first_use(void **state)
{
	const uint32_t a = call(0, 1), b = call(a, 2), c = call(b, 3);
	const uint32_t order[] = {0, a, c, b};

	(void)state;
	analysis_summary_tree_meet(&tree, a)->instructions += 7;
	analysis_summary_tree_meet(&tree, c);
	analysis_summary_tree_meet(&tree, b)->calls++;
	analysis_summary_tree_meet(&tree, a)->instructions += 2;
	assert_int_equal(tree.node_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(tree.nodes[i], order[i]);
		assert_int_equal(tree.calls[order[i]].number, i);
	}
	assert_int_equal(tree.calls[a].instructions, 9);
	assert_int_equal(tree.calls[b].calls, 1);
	assert_int_equal(tree.calls[c].instructions, 0);
}

static void nothing_is_left_for_the_next_piece(void **state)
{
	const uint32_t a = call(0, 1), b = call(a, 2);

	(void)state;
	analysis_summary_tree_meet(&tree, a)->instructions = 99;
	tree.transfers = 3;
	assert_int_equal(analysis_summary_tree_begin(&tree), 0);
	assert_int_equal(tree.transfers, 0);
	assert_int_equal(analysis_summary_tree_meet(&tree, b)->number, 1);
	assert_int_equal(analysis_summary_tree_meet(&tree, a)->instructions, 0);
	assert_int_equal(tree.calls[a].number, 2);
	assert_int_equal(tree.node_count, 3);
}

static void too_many_calls_are_refused(void **state)
{
	struct analysis_summary_call like = {.depth = 1};
	uint32_t number = 0;

	(void)state;
	while (analysis_summary_tree_call(&tree, &like, &number) == 0) {
		assert_true(number < ANALYSIS_SUMMARY_CALLS_MAX + 8);
		like.entry++;
	}
	assert_true(like.entry >= ANALYSIS_SUMMARY_CALLS_MAX);
	assert_int_equal(analysis_summary_tree_begin(&tree), 0);
	assert_int_equal(call(0, 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(calls_have_one_number, setup, teardown),
		cmocka_unit_test_setup_teardown(transfers_enter_the_call_that_they_entered_before, setup, teardown),
		cmocka_unit_test_setup_teardown(nodes_are_in_the_order_of_first_use, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_left_for_the_next_piece, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_calls_are_refused, setup, teardown),
	};

	return cmocka_run_group_tests_name("call_summary_tree", tests, NULL, NULL);
}
