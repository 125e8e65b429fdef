/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which transfers belong to a piece, and which transfers end a piece. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/call/call_summary.h"

#define FUNCTION 7
#define BEHIND 0x1005 /* address behind the call */

static struct analysis_summary_tree tree;
static struct analysis_summary summary;

static int setup(void **state)
{
	(void)state;
	summary = (struct analysis_summary){.tree = &tree};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	analysis_summary_free(&summary);
	analysis_summary_tree_free(&tree);
	return 0;
}

static int call(unsigned flags)
{
	const struct analysis_transfer transfer = {.kind = ANALYSIS_TRANSFER_CALL,
						   .to = 0x2000,
						   .address = BEHIND,
						   .function = FUNCTION,
						   .flags = ANALYSIS_TRANSFER_START,
						   .function_flags = (uint16_t)flags};

	return analysis_summary_take(&summary, &transfer);
}

/* Adds a jump to a place without a symbol. */
static int jump(unsigned flags, uint32_t instructions)
{
	const struct analysis_transfer transfer = {.kind = ANALYSIS_TRANSFER_JUMP,
						   .to = 0x9000,
						   .instructions = instructions,
						   .function = ANALYSIS_NO_FUNCTION,
						   .flags = (uint8_t)flags};

	return analysis_summary_take(&summary, &transfer);
}

static int come_back(void)
{
	const struct analysis_transfer transfer = {
		.kind = ANALYSIS_TRANSFER_RETURN, .to = BEHIND, .function = FUNCTION, .instructions = 3};

	return analysis_summary_take(&summary, &transfer);
}

static void jumps_to_parts_without_names_are_in_pieces(void **state)
{
	(void)state;
	assert_int_equal(jump(0, 100), 1);
	assert_int_equal(call(0), 1);
	assert_int_equal(jump(0, 20), 1);
	assert_int_equal(jump(0, 4), 1);
	assert_int_equal(come_back(), 1);
	assert_int_equal(analysis_summary_close(&summary, 0), 0);
	assert_int_equal(summary.piece_count, 1);
	assert_int_equal(summary.pieces[0].transfers, 5);
	assert_int_equal(summary.pieces[0].instructions, 127);
	assert_int_equal(summary.node_count, 2);
	assert_int_equal(summary.nodes[0].instructions, 100);
	assert_int_equal(summary.nodes[1].instructions, 27);
	assert_int_equal(summary.nodes[1].calls, 1);
}

static void jumps_that_may_leave_calls_are_not(void **state)
{
	(void)state;
	assert_int_equal(jump(ANALYSIS_TRANSFER_INDIRECT, 1), 0);
	assert_int_equal(jump(ANALYSIS_TRANSFER_START, 1), 0);
	assert_int_equal(call(0), 1);
	assert_int_equal(jump(ANALYSIS_TRANSFER_INDIRECT, 100), 0);
}

static void what_a_stub_executes_waits_for_its_function(void **state)
{
	(void)state;
	assert_int_equal(call(ANALYSIS_FUNCTION_STUB), 1);
	assert_int_equal(jump(0, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(jumps_to_parts_without_names_are_in_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(jumps_that_may_leave_calls_are_not, setup, teardown),
		cmocka_unit_test_setup_teardown(what_a_stub_executes_waits_for_its_function, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
