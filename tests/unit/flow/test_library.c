/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests libptl-flow's public functions: results equal the executed instructions of random programs, and misuse is
 * refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include <ptl/flow.h>
#include <ptl/reader.h>

#include "tests/unit/random_flow.h"

#define PROGRAMS 12
#define STEPS 20000
#define OPTIONS(...) (&(struct ptl_flow_options){.size = sizeof(struct ptl_flow_options), __VA_ARGS__})

/* ---- what the tests share --------------------------------------------------------------------------- */

static struct random_flow *make_program(uint64_t seed, unsigned features)
{
	struct random_flow *program = calloc(1, sizeof(*program));

	assert_non_null(program);
	random_flow_make_with(program, seed, STEPS, 1, features);
	return program;
}

/* Opens a program. The library copies the memory: overwriting the caller's memory afterwards shows that. */
static struct ptl_flow *open_program(const struct random_flow *program, const struct ptl_machine *machine)
{
	uint8_t *code = malloc(program->code_size), *pt = malloc(program->pt_size);
	const struct ptl_flow_memory memory = {program->base, code, program->code_size, "program"};
	const struct ptl_flow_raw raw = {
		.size = sizeof(raw),
		.pt = pt,
		.pt_size = program->pt_size,
		.memory = &memory,
		.memory_count = 1,
		.machine = machine,
	};
	struct ptl_flow *flow = NULL;

	assert_true(code && pt);
	memcpy(code, program->code, program->code_size);
	memcpy(pt, program->pt, program->pt_size);
	assert_int_equal(ptl_flow_open_raw(&raw, &flow), 0);
	memset(code, 0xcc, program->code_size);
	memset(pt, 0xcc, program->pt_size);
	free(code);
	free(pt);
	return flow;
}

struct sums {
	uint64_t instructions, blocks, branches, events, gaps;
};

static void add_item(struct sums *sums, const struct ptl_flow_item *item)
{
	if (item->block) {
		sums->instructions += item->block->instructions;
		sums->blocks++;
		sums->branches += item->block->branch != PTL_FLOW_BRANCH_NONE;
	} else {
		sums->events++;
		sums->gaps += item->event->kind == PTL_FLOW_GAP;
	}
}

/* ---- a view that counts, from sums or from blocks ------------------------------------------------------ */

struct counting {
	struct sums total;
	unsigned groups;
	int made; /* number of partial results not yet merged */
	bool sums;
	int stop_with; /* return value of consume */
};

static int begin(void *context, const struct ptl_flow_segment *segment, void **partial)
{
	struct counting *counting = context;

	assert_true(segment->size > 0);
	*partial = calloc(1, sizeof(struct sums));
	__atomic_add_fetch(&counting->made, 1, __ATOMIC_RELAXED);
	return *partial ? 0 : PTL_NO_MEMORY;
}

static int consume(void *context, void *partial, const struct ptl_flow_segment *segment, struct ptl_flow_batch *batch)
{
	const struct counting *counting = context;
	const struct ptl_flow_item *item;
	struct sums *sums = partial;

	if (counting->stop_with)
		return counting->stop_with;
	if (counting->sums) {
		sums->instructions += ptl_flow_batch_instructions(batch);
		sums->blocks += ptl_flow_batch_blocks(batch);
		sums->branches += ptl_flow_batch_branches(batch);
	}
	while ((item = ptl_flow_batch_next(batch)) != NULL) {
		assert_ptr_equal(item->segment, segment);
		assert_true(!item->block != !item->event);
		assert_false(counting->sums && item->block);
		add_item(sums, item);
	}
	return 0;
}

static void drop(void *context, void *partial)
{
	struct counting *counting = context;

	counting->made--;
	free(partial);
}

static int merge(void *context, void *left_, void *right_)
{
	struct sums *left = left_;
	const struct sums *right = right_;

	left->instructions += right->instructions;
	left->blocks += right->blocks;
	left->branches += right->branches;
	left->events += right->events;
	left->gaps += right->gaps;
	drop(context, right_);
	return 0;
}

static int finish(void *context, const struct ptl_flow_segment *last, void *result)
{
	struct counting *counting = context;

	assert_true(last->last);
	assert_int_equal(last->group, counting->groups);
	counting->groups++;
	counting->total = *(const struct sums *)result;
	drop(context, result);
	return 0;
}

static const struct ptl_flow_view blocks_view = {.size = sizeof(blocks_view),
						 .begin = begin,
						 .consume = consume,
						 .merge = merge,
						 .finish = finish,
						 .drop = drop};

static int count(struct ptl_flow *flow, const struct ptl_flow_options *options, struct counting *counting)
{
	struct ptl_flow_view view = blocks_view;
	int status;

	view.counts_only = counting->sums;
	status = ptl_flow_run(flow, options, &view, counting);
	assert_int_equal(counting->made, 0);
	return status;
}

/* ---- tests ------------------------------------------------------------------------------------------------ */

/* Walks the flow: the instructions in order equal the executed instructions. */
static void walk(struct ptl_flow *flow, const struct ptl_flow_options *options, const struct random_flow *program,
		 struct sums *sums)
{
	static uint64_t addresses[RANDOM_FLOW_TRUTH];
	const struct ptl_flow_item *item;
	struct ptl_flow_iterator *iterator = NULL;
	size_t at = 0;
	int status;

	assert_int_equal(ptl_flow_iterator_new(flow, options, &iterator), 0);
	while ((status = ptl_flow_next(iterator, &item)) > 0) {
		const struct ptl_flow_block *block = item->block;

		add_item(sums, item);
		assert_int_equal(item->segment->pid, 1);
		if (!block)
			continue;
		assert_true(at + block->instructions <= program->truth_count);
		ptl_flow_block_addresses(block, addresses);
		assert_memory_equal(addresses, program->truth + at, block->instructions * sizeof(addresses[0]));
		assert_memory_equal(block->code, program->code + (block->ip - program->base), block->size);
		assert_int_equal(block->last_ip, addresses[block->instructions - 1]);
		assert_string_equal(ptl_flow_image(flow, block->image)->file_name, "program");
		at += block->instructions;
	}
	assert_int_equal(status, 0);
	assert_null(item);
	assert_int_equal(ptl_flow_next(iterator, &item), 0);
	assert_int_equal(at, program->truth_count);
	ptl_flow_iterator_free(iterator);
}

static void test_flow_is_what_was_executed(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		struct random_flow *program = make_program(seed, FLOW_ALL & ~FLOW_32);
		struct ptl_flow *flow = open_program(program, NULL);
		const char *engine;

		for (size_t i = 0; (engine = ptl_flow_engine_name(i)) != NULL; i++) {
			struct counting blocks = {0}, sums = {.sums = true};
			struct sums walked = {0};

			walk(flow, OPTIONS(.engine = engine), program, &walked);
			assert_int_equal(count(flow, OPTIONS(.engine = engine, .threads = 3), &blocks), 0);
			assert_int_equal(count(flow, OPTIONS(.engine = engine, .threads = 1), &sums), 0);
			assert_memory_equal(&walked, &blocks.total, sizeof(walked));
			assert_memory_equal(&walked, &sums.total, sizeof(walked));
			assert_int_equal(walked.instructions, program->truth_count);
			assert_int_equal(blocks.groups, 1);
		}
		ptl_flow_close(flow);
		free(program);
	}
}

/* Makes the first program whose run has TSC packets: features are random. */
static struct random_flow *make_timed_program(void)
{
	for (uint64_t seed = 1;; seed++) {
		struct random_flow *program = make_program(seed, FLOW_CLOCK);

		if (random_flow_has(program, FLOW_CLOCK))
			return program;
		free(program);
	}
}

static void test_times_enclose_the_true_ones(void **state)
{
	const struct ptl_machine machine = {
		.source = "test", .clock = PTL_CLOCK_PERF, .mode = 64, .tsc_multiplier = 1, .return_compression = true};
	struct random_flow *program = make_timed_program();
	struct ptl_flow *flow = open_program(program, &machine);
	struct ptl_flow_iterator *iterator;
	const struct ptl_flow_item *item;
	size_t at = 0, bounded = 0, cut = 0;
	uint64_t middle;

	(void)state;
	assert_int_equal(ptl_flow_iterator_new(flow, NULL, &iterator), 0);
	while (ptl_flow_next(iterator, &item) > 0) {
		for (uint32_t i = 0; item->block && i < item->block->instructions; i++, at++) {
			assert_true(item->earliest <= program->times[at] && program->times[at] <= item->latest);
			bounded += item->earliest != 0 && item->latest != UINT64_MAX;
		}
	}
	ptl_flow_iterator_free(iterator);
	assert_int_equal(at, program->truth_count);
	assert_true(bounded > at / 2);
	middle = program->times[at / 2];
	assert_int_equal(ptl_flow_iterator_new(flow, OPTIONS(.first_time = middle), &iterator), 0);
	while (ptl_flow_next(iterator, &item) > 0) {
		assert_true(!item->time || item->time >= middle);
		cut += item->block ? item->block->instructions : 0;
	}
	ptl_flow_iterator_free(iterator);
	assert_true(cut > at / 3 && cut < at);
	ptl_flow_close(flow);
	free(program);
}

static void test_selection(void **state)
{
	struct random_flow *program = make_program(1, 0);
	struct ptl_flow *flow = open_program(program, NULL);
	const uint32_t one = 1, two = 2;
	struct counting counting = {0};

	(void)state;
	assert_int_equal(count(flow, OPTIONS(.pids = &two, .pid_count = 1), &counting), 0);
	assert_int_equal(counting.groups, 0);
	assert_int_equal(count(flow, OPTIONS(.tids = &two, .tid_count = 1), &counting), 0);
	assert_int_equal(count(flow, OPTIONS(.cpus = &one, .cpu_count = 1), &counting), 0);
	assert_int_equal(counting.groups, 0);
	assert_int_equal(count(flow, OPTIONS(.pids = &one, .pid_count = 1, .tids = &one, .tid_count = 1), &counting),
			 0);
	assert_int_equal(counting.groups, 1);
	assert_int_equal(counting.total.instructions, program->truth_count);
	ptl_flow_close(flow);
	free(program);
}

/* Missing code is a gap at its place in the flow, and no error. */
static void test_missing_code_is_a_gap(void **state)
{
	struct random_flow *program = make_program(1, 0);
	const struct ptl_flow_raw raw = {.size = sizeof(raw), .pt = program->pt, .pt_size = program->pt_size};
	struct ptl_flow_iterator *iterator;
	const struct ptl_flow_item *item;
	struct ptl_flow *flow;
	unsigned gaps = 0;

	(void)state;
	assert_int_equal(ptl_flow_open_raw(&raw, &flow), 0);
	assert_int_equal(ptl_flow_iterator_new(flow, NULL, &iterator), 0);
	while (ptl_flow_next(iterator, &item) > 0) {
		assert_null(item->block);
		if (item->event->kind != PTL_FLOW_GAP)
			continue;
		gaps++;
		if (item->event->cause == PTL_FLOW_GAP_CODE)
			assert_true((item->event->flags & PTL_FLOW_HAS_FROM) && item->event->from >= program->base);
	}
	assert_true(gaps > 0);
	ptl_flow_iterator_free(iterator);
	ptl_flow_close(flow);
	free(program);
}

/* Without a PSB, decoding cannot start. */
static void test_other_bytes_are_a_gap(void **state)
{
	const struct ptl_flow_raw raw = {.size = sizeof(raw), .pt = "no packets at all", .pt_size = 17};
	struct ptl_flow_iterator *iterator;
	const struct ptl_flow_item *item;
	struct ptl_flow *flow;

	(void)state;
	assert_int_equal(ptl_flow_open_raw(&raw, &flow), 0);
	assert_int_equal(ptl_flow_iterator_new(flow, NULL, &iterator), 0);
	assert_int_equal(ptl_flow_next(iterator, &item), 1);
	assert_non_null(item->event);
	assert_int_equal(item->event->cause, PTL_FLOW_GAP_SYNC);
	assert_int_equal(item->event->size, 17);
	assert_int_equal(ptl_flow_next(iterator, &item), 0);
	ptl_flow_iterator_free(iterator);
	ptl_flow_close(flow);
}

static void test_a_view_may_stop(void **state)
{
	struct random_flow *program = make_program(2, 0);
	struct ptl_flow *flow = open_program(program, NULL);
	struct counting cancelled = {.stop_with = PTL_CANCELLED}, wrong = {.stop_with = 7};
	struct ptl_flow_iterator *iterator;
	const struct ptl_flow_item *item;

	(void)state;
	assert_int_equal(count(flow, NULL, &cancelled), PTL_CANCELLED);
	assert_non_null(strstr(ptl_error_text(), "consume ended the run"));
	assert_int_equal(count(flow, NULL, &wrong), PTL_MISUSE);
	assert_non_null(strstr(ptl_error_text(), "returned 7"));
	/* Frees an iterator before its first item, and in the middle. */
	assert_int_equal(ptl_flow_iterator_new(flow, NULL, &iterator), 0);
	ptl_flow_iterator_free(iterator);
	assert_int_equal(ptl_flow_iterator_new(flow, NULL, &iterator), 0);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(ptl_flow_next(iterator, &item), 1);
	ptl_flow_iterator_free(iterator);
	ptl_flow_iterator_free(NULL);
	ptl_flow_close(flow);
	ptl_flow_close(NULL);
	free(program);
}

struct emitted {
	uint64_t offset, horizon;
	unsigned segments;
};

static int emit(void *context, const struct ptl_flow_segment *segment, void *partial, uint64_t horizon)
{
	struct emitted *emitted = context;

	assert_true(!emitted->segments == segment->first && segment->offset >= emitted->offset);
	assert_true(horizon >= emitted->horizon && horizon >= segment->time);
	emitted->offset = segment->offset + segment->size;
	emitted->horizon = horizon;
	emitted->segments++;
	free(partial);
	return 0;
}

static int begin_empty(void *context, const struct ptl_flow_segment *segment, void **partial)
{
	(void)context;
	(void)segment;
	*partial = malloc(1);
	return *partial ? 0 : PTL_NO_MEMORY;
}

static int ignore(void *context, void *partial, const struct ptl_flow_segment *segment, struct ptl_flow_batch *batch)
{
	(void)context;
	(void)partial;
	(void)segment;
	return batch ? 0 : PTL_MISUSE;
}

static void drop_empty(void *context, void *partial)
{
	(void)context;
	free(partial);
}

static void test_segments_are_emitted_in_order(void **state)
{
	const struct ptl_flow_view view = {
		.size = sizeof(view), .begin = begin_empty, .consume = ignore, .emit = emit, .drop = drop_empty};
	struct random_flow *program = make_program(4, FLOW_ALL & ~FLOW_32);
	struct ptl_flow *flow = open_program(program, NULL);
	struct emitted emitted = {0};

	(void)state;
	assert_int_equal(ptl_flow_run(flow, OPTIONS(.by_time = true, .threads = 4), &view, &emitted), 0);
	assert_int_equal(emitted.segments, program->segments);
	assert_int_equal(emitted.offset, program->pt_size);
	ptl_flow_close(flow);
	free(program);
}

static void test_misuse_of_views_and_options(void **state)
{
	struct random_flow *program = make_program(1, 0);
	struct ptl_flow *flow = open_program(program, NULL), *none = flow;
	struct ptl_flow_view view = blocks_view;
	struct ptl_flow_iterator *iterator = (void *)1;

	(void)state;
	assert_int_equal(ptl_flow_open(NULL, &none), PTL_MISUSE);
	assert_null(none);
	assert_int_equal(ptl_flow_run(flow, NULL, NULL, NULL), PTL_MISUSE);
	assert_int_equal(ptl_flow_run(NULL, NULL, &view, NULL), PTL_MISUSE);
	view.emit = emit;
	assert_int_equal(ptl_flow_run(flow, NULL, &view, NULL), PTL_MISUSE);
	view.emit = NULL;
	view.finish = NULL;
	assert_int_equal(ptl_flow_run(flow, NULL, &view, NULL), PTL_MISUSE);
	assert_int_equal(ptl_flow_iterator_new(flow, OPTIONS(.engine = "steam"), &iterator), PTL_MISUSE);
	assert_non_null(strstr(ptl_error_text(), "steam"));
	assert_int_equal(ptl_flow_iterator_new(flow, OPTIONS(.pid_count = 1), &iterator), PTL_MISUSE);
	assert_int_equal(ptl_flow_iterator_new(flow, OPTIONS(.first_time = 2, .last_time = 1), &iterator), PTL_MISUSE);
	assert_null(iterator);
	iterator = (void *)1;
	assert_int_equal(ptl_flow_iterator_new(NULL, NULL, &iterator), PTL_MISUSE);
	assert_null(iterator);
	ptl_flow_close(flow);
	free(program);
}

/* Older callers have shorter structures; newer callers must not use unknown members. */
static void test_sizes_of_structures(void **state)
{
	struct {
		struct ptl_flow_options known;
		uint64_t newer;
	} options = {.known.size = sizeof(options)};
	struct random_flow *program = make_program(1, 0);
	struct ptl_flow *flow = open_program(program, NULL);
	struct ptl_flow_iterator *iterator;

	(void)state;
	assert_int_equal(ptl_flow_iterator_new(flow, &options.known, &iterator), 0);
	ptl_flow_iterator_free(iterator);
	options.newer = 1;
	assert_int_equal(ptl_flow_iterator_new(flow, &options.known, &iterator), PTL_UNSUPPORTED);
	/* Bytes behind the caller's structure are ignored. */
	options.known.size = offsetof(struct ptl_flow_options, engine);
	options.known.engine = "steam";
	assert_int_equal(ptl_flow_iterator_new(flow, &options.known, &iterator), 0);
	ptl_flow_iterator_free(iterator);
	options.known.size = 0;
	assert_int_equal(ptl_flow_iterator_new(flow, &options.known, &iterator), PTL_MISUSE);
	options.known.size = SIZE_MAX;
	assert_int_equal(ptl_flow_iterator_new(flow, &options.known, &iterator), PTL_MISUSE);
	ptl_flow_close(flow);
	free(program);
}

static void test_misuse_of_raw(void **state)
{
	const uint8_t byte = 0x90;
	struct ptl_flow_memory memory = {.address = UINT64_MAX, .bytes = &byte, .size = 1};
	struct ptl_flow_raw raw = {.size = sizeof(raw), .memory = &memory, .memory_count = 1};
	struct ptl_flow *flow = (void *)1;

	(void)state;
	assert_int_equal(ptl_flow_open_raw(NULL, &flow), PTL_MISUSE);
	assert_null(flow);
	assert_int_equal(ptl_flow_open_raw(&raw, &flow), PTL_MISUSE);
	raw.pt = &byte;
	raw.pt_size = 1;
	memory.size = 2;
	assert_int_equal(ptl_flow_open_raw(&raw, &flow), PTL_MISUSE);
	assert_non_null(strstr(ptl_error_text(), "leaves the address space"));
	memory.size = 0;
	assert_int_equal(ptl_flow_open_raw(&raw, &flow), PTL_MISUSE);
	raw.memory = NULL;
	assert_int_equal(ptl_flow_open_raw(&raw, &flow), PTL_MISUSE);
	assert_null(flow);
	raw.memory = &memory;
	memory.size = 1; /* last byte of the address space */
	assert_int_equal(ptl_flow_open_raw(&raw, &flow), 0);
	assert_non_null(ptl_flow_trace(flow));
	assert_int_equal(ptl_flow_skipped_events(flow), 0);
	assert_null(ptl_flow_image(flow, PTL_NO_ID));
	assert_null(ptl_flow_image(flow, 1));
	assert_string_equal(ptl_flow_image(flow, 0)->file_name, "memory");
	ptl_flow_close(flow);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(ptl_flow_engine_name(0), "native");
	assert_string_equal(ptl_flow_branch_name(PTL_FLOW_BRANCH_CONDITIONAL), "conditional");
	assert_string_equal(ptl_flow_kind_name(PTL_FLOW_ASYNC_BRANCH), "async-branch");
	assert_string_equal(ptl_flow_gap_cause_name(PTL_FLOW_GAP_CODE), "missing-code");
	assert_string_equal(ptl_flow_control_name(1), "interrupt");
	assert_string_equal(ptl_flow_event_data_name(0), "page-fault-address");
	/* 257 must not count as 1. */
	assert_string_equal(ptl_flow_branch_name(257), "unknown");
	assert_string_equal(ptl_flow_kind_name(257), "unknown");
	assert_string_equal(ptl_flow_gap_cause_name(257), "unknown");
	assert_null(ptl_flow_control_name(257));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flow_is_what_was_executed),
		cmocka_unit_test(test_times_enclose_the_true_ones),
		cmocka_unit_test(test_selection),
		cmocka_unit_test(test_missing_code_is_a_gap),
		cmocka_unit_test(test_other_bytes_are_a_gap),
		cmocka_unit_test(test_a_view_may_stop),
		cmocka_unit_test(test_segments_are_emitted_in_order),
		cmocka_unit_test(test_misuse_of_views_and_options),
		cmocka_unit_test(test_sizes_of_structures),
		cmocka_unit_test(test_misuse_of_raw),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
