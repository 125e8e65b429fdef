/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that messages leave in order, and that a gap delays messages for a limited time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/channel/sequencer.h"

/* Items point into this array, so that each item is distinct. */
static char items[4096];

static void push(struct record_sequencer *sequencer, uint64_t sequence)
{
	assert_int_equal(record_sequencer_push(sequencer, sequence, &items[sequence % sizeof(items)], 100), 0);
}

static void expect(struct record_sequencer *sequencer, uint64_t now, uint64_t sequence)
{
	assert_ptr_equal(record_sequencer_pop(sequencer, now, false), &items[sequence % sizeof(items)]);
}

static void expect_none(struct record_sequencer *sequencer, uint64_t now)
{
	assert_null(record_sequencer_pop(sequencer, now, false));
}

static void orders_any_permutation(void **state)
{
	struct record_sequencer sequencer = {0};
	uint64_t next = 1;

	(void)state;
	/* 17 and 1000 have no common divisor. */
	for (uint64_t i = 0; i < 1000; i++) {
		push(&sequencer, i * 17 % 1000 + 1);
		while (record_sequencer_pop(&sequencer, 0, false))
			next++;
	}
	assert_int_equal(next, 1001);
	assert_int_equal(sequencer.released, 1000);
	assert_int_equal(sequencer.bytes, 0);
	record_sequencer_free(&sequencer);
}

static void waits_for_a_gap(void **state)
{
	struct record_sequencer sequencer = {0};

	(void)state;
	push(&sequencer, 3);
	push(&sequencer, 1);
	expect(&sequencer, 10, 1);
	expect_none(&sequencer, 10);
	expect_none(&sequencer, 10 + RECORD_SEQUENCE_PATIENCE - 1);
	push(&sequencer, 2);
	expect(&sequencer, 10 + RECORD_SEQUENCE_PATIENCE, 2);
	expect(&sequencer, 10 + RECORD_SEQUENCE_PATIENCE, 3);
	assert_int_equal(sequencer.skipped, 0);
	record_sequencer_free(&sequencer);
}

static void gives_a_gap_up(void **state)
{
	struct record_sequencer sequencer = {0};

	(void)state;
	push(&sequencer, 4);
	push(&sequencer, 9);
	expect_none(&sequencer, 10);
	expect(&sequencer, 10 + RECORD_SEQUENCE_PATIENCE, 4);
	assert_int_equal(sequencer.skipped, 3);
	/* Each gap has its own time limit; a late message leaves at once. */
	expect_none(&sequencer, 10 + RECORD_SEQUENCE_PATIENCE);
	push(&sequencer, 2);
	expect(&sequencer, 10 + RECORD_SEQUENCE_PATIENCE, 2);
	expect_none(&sequencer, 10 + RECORD_SEQUENCE_PATIENCE);
	assert_ptr_equal(record_sequencer_pop(&sequencer, 20, true), &items[9]);
	expect_none(&sequencer, 30);
	record_sequencer_free(&sequencer);
}

static void keeps_arrivals_apart(void **state)
{
	struct record_sequencer sequencer = {0};

	(void)state;
	push(&sequencer, 1);
	assert_int_equal(record_sequencer_push(&sequencer, 1, &items[100], 1), 0);
	assert_int_equal(record_sequencer_push(&sequencer, 1, &items[101], 1), 0);
	expect(&sequencer, 0, 1);
	expect(&sequencer, 0, 100);
	expect(&sequencer, 0, 101);
	record_sequencer_free(&sequencer);
}

static void bounds_what_it_holds(void **state)
{
	struct record_sequencer sequencer = {0};

	(void)state;
	assert_int_equal(record_sequencer_push(&sequencer, 5, &items[5], RECORD_SEQUENCE_BYTES), 0);
	expect_none(&sequencer, 1);
	push(&sequencer, 7);
	expect(&sequencer, 1, 5);
	expect_none(&sequencer, 1);
	assert_ptr_equal(record_sequencer_pop(&sequencer, 1, true), &items[7]);
	record_sequencer_free(&sequencer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_any_permutation), cmocka_unit_test(waits_for_a_gap),
		cmocka_unit_test(gives_a_gap_up),         cmocka_unit_test(keeps_arrivals_apart),
		cmocka_unit_test(bounds_what_it_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
