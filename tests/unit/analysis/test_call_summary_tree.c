/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the effects of counted steps on the calls of a piece, and the nodes that result. */
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

static uint32_t effect(uint32_t a, uint32_t b)
{
	const struct analysis_summary_sum sums[] = {{.instructions = 10, .call = a}, {.call = b, .calls = -1}};

	return analysis_summary_tree_effect(&tree, sums, 2, 3);
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

static void effects_have_one_number(void **state)
{
	const uint32_t number = effect(1, 2);

	(void)state;
	assert_int_not_equal(number, 0);
	assert_int_equal(effect(1, 2), number);
	assert_int_not_equal(effect(2, 1), number);
}

static void nodes_are_in_the_order_in_which_calls_were_met(void **state)
{
	const uint32_t a = call(0, 1), b = call(a, 2), c = call(b, 3);
	const uint32_t first = effect(a, b), second = effect(c, a);
	const uint32_t order[] = {0, a, b, c};

	(void)state;
	flow_step_count(&tree.used, first);
	analysis_summary_tree_meet(&tree, b)->instructions += 7;
	flow_step_count(&tree.used, second);
	flow_step_count(&tree.used, first);
	analysis_summary_tree_close(&tree);
	assert_int_equal(tree.node_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(tree.nodes[i], order[i]);
		assert_int_equal(tree.calls[order[i]].number, i);
	}
	assert_int_equal(tree.calls[a].instructions, 20);
	assert_int_equal(tree.calls[a].calls, -1);
	assert_int_equal(tree.calls[b].instructions, 7);
	assert_int_equal(tree.calls[b].calls, -2);
	assert_int_equal(tree.calls[c].instructions, 10);
	assert_int_equal(tree.transfers, 9);
}

static void nothing_is_left_for_the_next_piece(void **state)
{
	const uint32_t a = call(0, 1), b = call(a, 2), number = effect(a, b);

	(void)state;
	flow_step_count(&tree.used, number);
	analysis_summary_tree_close(&tree);
	/* and for a piece that is never closed */
	assert_int_equal(analysis_summary_tree_begin(&tree), 0);
	flow_step_count(&tree.used, number);
	analysis_summary_tree_meet(&tree, a)->instructions = 99;
	assert_int_equal(analysis_summary_tree_begin(&tree), 0);
	assert_int_equal(tree.used.counts[number], 0);
	flow_step_count(&tree.used, number);
	analysis_summary_tree_close(&tree);
	assert_int_equal(tree.node_count, 3);
	assert_int_equal(tree.calls[a].instructions, 10);
	assert_int_equal(tree.calls[b].calls, -1);
	assert_int_equal(tree.transfers, 3);
}

static void too_many_effects_are_forgotten(void **state)
{
	const uint32_t generation = tree.generation;
	uint32_t number, instructions = 0;

	(void)state;
	do {
		const struct analysis_summary_sum sum = {.instructions = ++instructions};

		number = analysis_summary_tree_effect(&tree, &sum, 1, 1);
		assert_true(number < ANALYSIS_SUMMARY_EFFECTS_MAX);
	} while (number);
	assert_int_equal(instructions, ANALYSIS_SUMMARY_EFFECTS_MAX);
	assert_int_equal(analysis_summary_tree_begin(&tree), 0);
	assert_int_not_equal(tree.generation, generation);
	assert_int_equal(effect(0, 0), 1);
	assert_int_equal(analysis_summary_tree_effect(&tree, NULL, 0, UINT16_MAX + 1), 0);
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
		cmocka_unit_test_setup_teardown(effects_have_one_number, setup, teardown),
		cmocka_unit_test_setup_teardown(nodes_are_in_the_order_in_which_calls_were_met, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_left_for_the_next_piece, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_effects_are_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_calls_are_refused, setup, teardown),
	};

	return cmocka_run_group_tests_name("call_summary_tree", tests, NULL, NULL);
}
