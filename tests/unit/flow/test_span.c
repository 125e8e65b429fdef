/* SPDX-License-Identifier: BSD-2-Clause */
/* Unit tests for flow/view/span.h: batches cut to spans of instructions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flow/view/span.h"

/* Four blocks of 2, 3, 1 and 4 instructions; the first ends with a conditional branch. */
static const struct flow_block blocks[] = {
	{.ip = 0x100, .size = 4, .instructions = 2, .branch = FLOW_BRANCH_CONDITIONAL, .image = FLOW_NONE},
	{.ip = 0x200, .size = 6, .instructions = 3, .branch = FLOW_BRANCH_RETURN, .image = FLOW_NONE},
	{.ip = 0x300, .size = 2, .instructions = 1, .branch = FLOW_BRANCH_JUMP, .image = FLOW_NONE},
	{.ip = 0x400, .size = 8, .instructions = 4, .branch = FLOW_BRANCH_NONE, .image = FLOW_NONE},
};

#define BLOCKS 4

struct flow {
	const struct flow_block *list[BLOCKS];
	struct flow_block_run run;
	const struct flow_block_run *runs[1];
	struct flow_mark marks[1];
	struct flow_event events[1];
	struct flow_batch batch;
};

static void make_flow(struct flow *flow)
{
	*flow = (struct flow){.marks = {{.time = 7}}};
	for (size_t i = 0; i < BLOCKS; i++)
		flow->list[i] = &blocks[i];
	flow->run = (struct flow_block_run){.blocks = flow->list, .instructions = 10, .count = BLOCKS, .branches = 3};
	flow->runs[0] = &flow->run;
	flow->batch = (struct flow_batch){
		.runs = flow->runs,
		.run_count = 1,
		.block_count = BLOCKS,
		.instructions = 10,
		.branches = 3,
		.marks = flow->marks,
		.mark_count = 1,
	};
}

/* Cuts the batch, and compares the first addresses of the blocks that are left; 0 ends the list. */
static void expect_blocks(struct flow_span_place *place, struct flow_batch_copy *copy, const struct flow_batch *batch,
			  const uint64_t *ips, struct flow_batch *cut)
{
	struct flow_batch_cursor cursor;
	uint64_t instructions = 0;

	assert_int_equal(flow_span_cut(place, copy, batch, cut), 0);
	cursor = flow_batch_walk(cut);
	while (flow_batch_next(&cursor))
		if (cursor.block) {
			assert_int_equal(cursor.block->ip, *ips++);
			assert_int_equal(cursor.time, 7);
			instructions += cursor.block->instructions;
		}
	assert_int_equal(*ips, 0);
	assert_int_equal(cut->instructions, instructions);
}

static void test_middle(void **state)
{
	const struct flow_span list[] = {{3, 0, 9, 0}, {5, 2, 6, 0}, {6, 0, 1, 0}};
	const struct flow_spans spans = {list, 3};
	struct flow_span_place place = flow_span_start(&spans, 5);
	struct flow_batch_copy copy = {0};
	struct flow_batch cut;
	struct flow flow;

	(void)state;
	make_flow(&flow);
	expect_blocks(&place, &copy, &flow.batch, (const uint64_t[]){0x200, 0x300, 0}, &cut);
	assert_int_equal(cut.event_count, 1);
	assert_int_equal(cut.events[0].kind, FLOW_DISABLED);
	assert_int_equal(cut.events[0].to, 0x400);
	assert_int_equal(cut.events[0].before, 2);
	flow_batch_copy_free(&copy);
}

/* Two spans, of which one continues in the next batch. */
static void test_two_batches(void **state)
{
	const struct flow_span list[] = {{0, 0, 2, 0}, {0, 6, 12, 1}};
	const struct flow_spans spans = {list, 2};
	struct flow_span_place place = flow_span_start(&spans, 0);
	struct flow_batch_copy copy = {0};
	struct flow_batch cut;
	struct flow flow;

	(void)state;
	make_flow(&flow);
	expect_blocks(&place, &copy, &flow.batch, (const uint64_t[]){0x100, 0x400, 0}, &cut);
	assert_int_equal(cut.event_count, 1);
	assert_int_equal(cut.events[0].to, 0x200);
	assert_int_equal(cut.events[0].before, 1);
	expect_blocks(&place, &copy, &flow.batch, (const uint64_t[]){0x100, 0}, &cut);
	assert_int_equal(cut.event_count, 1);
	assert_int_equal(cut.events[0].to, 0x200);
	expect_blocks(&place, &copy, &flow.batch, (const uint64_t[]){0}, &cut);
	assert_int_equal(cut.event_count, 0);
	flow_batch_copy_free(&copy);
}

/* An event within a span stays; an event behind a span that ends the flow takes the place of FLOW_DISABLED. */
static void test_events(void **state)
{
	const struct flow_span list[] = {{0, 0, 5, 0}};
	const struct flow_spans spans = {list, 1};
	struct flow_batch_copy copy = {0};
	struct flow_span_place place;
	struct flow_batch cut;
	struct flow flow;

	(void)state;
	for (size_t before = 1; before <= 2; before++) {
		make_flow(&flow);
		flow.events[0] = (struct flow_event){.kind = FLOW_GAP, .before = before};
		flow.batch.events = flow.events;
		flow.batch.event_count = 1;
		place = flow_span_start(&spans, 0);
		expect_blocks(&place, &copy, &flow.batch, (const uint64_t[]){0x100, 0x200, 0}, &cut);
		assert_int_equal(cut.event_count, before == 1 ? 2 : 1);
		assert_int_equal(cut.events[0].kind, FLOW_GAP);
		assert_int_equal(cut.events[0].before, before);
	}
	flow_batch_copy_free(&copy);
}

static void test_no_spans(void **state)
{
	const struct flow_spans spans = {0};
	struct flow_span_place place = flow_span_start(&spans, 0);
	struct flow_batch_copy copy = {0};
	struct flow_batch cut;
	struct flow flow;

	(void)state;
	make_flow(&flow);
	expect_blocks(&place, &copy, &flow.batch, (const uint64_t[]){0}, &cut);
	assert_int_equal(cut.event_count, 0);
	flow_batch_copy_free(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_middle),
		cmocka_unit_test(test_two_batches),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_no_spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
