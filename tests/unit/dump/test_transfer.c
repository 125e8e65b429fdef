/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transfers that are remembered for whole runs of blocks, the engine's and others with events within them, against those of the
 * same blocks one by one: random programs, whole and with damage, in one image and in pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dump/call/transfer.h"
#include "flow/view/view.h"
#include "tests/unit/dump_trace.h"
#include "tests/unit/random_fixture.h"

#define PID 7
#define STEPS 20000

static struct ptl_trace *make_trace(size_t piece)
{
	struct dump_trace made;
	uint32_t stream;

	dump_trace_start(&made, &machine);
	for (size_t at = 0; at < flow->code_size; at += piece) {
		const size_t size = flow->code_size - at < piece ? flow->code_size - at : piece;

		dump_trace_load(&made, 1, PID, "part", flow->base + at, size, flow->code + at, size);
	}
	stream = dump_trace_stream(&made, PID, PID);
	for (size_t at = 0; (at = ptl_pt_find_psb(flow->pt, flow->pt_size, at)) < flow->pt_size; at += PTL_PT_PSB_SIZE)
		assert_int_equal(ptl_writer_psb(made.writer, stream, at, 100 + at), 0);
	assert_int_equal(ptl_writer_bytes(made.writer, stream, flow->pt, flow->pt_size, 100), 0);
	return dump_trace_finish(&made);
}

/* One way to find transfers: by runs, or block by block. */
struct way {
	struct dump_transfers transfers;
	struct dump_tracker tracker;
	struct dump_place_cache *cache;
};

struct view {
	struct way by_runs, by_blocks, by_others;
	uint64_t generation; /* of the other runs: each batch has its own */
	size_t count;
};

static int begin(void *context, const struct flow_segment *segment, void **partial)
{
	struct view *view = context;

	(void)segment;
	view->by_runs.tracker = view->by_blocks.tracker = view->by_others.tracker = (struct dump_tracker){0};
	*partial = view;
	return 0;
}

static void assert_same(const struct dump_tracker *a, const struct dump_tracker *b)
{
	assert_int_equal(a->placed, b->placed);
	assert_int_equal(a->instructions, b->instructions);
	assert_int_equal(a->time, b->time);
	assert_int_equal(a->leaving.valid, b->leaving.valid);
	assert_int_equal(a->leaving.behind, b->leaving.behind);
	assert_int_equal(a->leaving.branch, b->leaving.branch);
	assert_int_equal(a->place.image, b->place.image);
	assert_int_equal(a->place.function, b->place.function);
}

/* The transfers of a batch, which are added, and nothing else has changed but what is remembered. */
static void rehearse(const struct way *way, const struct flow_segment *segment, const struct flow_batch *batch)
{
	struct dump_transfers transfers = {0};
	struct dump_tracker tracker = way->tracker;

	assert_int_equal(dump_transfers_add(&transfers, &tracker, way->cache, segment, batch), 0);
	dump_transfers_free(&transfers);
}

/* The same blocks in runs of another length, with events and other times between their blocks, each met three times. */
static void add_others(struct view *view, const struct flow_segment *segment, const struct flow_batch *batch)
{
	enum { LENGTH = 5 };
	const size_t count = batch->block_count / LENGTH + 1;
	const struct flow_block **blocks = calloc(batch->block_count + 1, sizeof(struct flow_block *));
	const struct flow_block_run **list = calloc(count, sizeof(struct flow_block_run *));
	struct flow_block_run *runs = calloc(count, sizeof(*runs));
	struct flow_batch others = *batch;
	size_t index = 0;

	assert_true(blocks && list && runs);
	others.generation = ++view->generation;
	others.runs = list;
	others.run_count = 0;
	for (size_t r = 0; r < batch->run_count; r++)
		for (uint32_t i = 0; i < batch->runs[r]->count; i++) {
			struct flow_block_run *run = &runs[index / LENGTH];

			if (!run->count) {
				run->blocks = &blocks[index];
				list[others.run_count++] = run;
			}
			blocks[index++] = batch->runs[r]->blocks[i];
			run->count++;
			run->instructions += batch->runs[r]->blocks[i]->instructions;
		}
	rehearse(&view->by_others, segment, &others);
	rehearse(&view->by_others, segment, &others);
	assert_int_equal(dump_transfers_add(&view->by_others.transfers, &view->by_others.tracker, view->by_others.cache,
					    segment, &others),
			 0);
	free(blocks);
	free(list);
	free(runs);
}

static void assert_same_way(struct way *a, struct way *b)
{
	assert_same(&a->tracker, &b->tracker);
	assert_int_equal(a->transfers.count, b->transfers.count);
	if (a->transfers.count)
		assert_memory_equal(a->transfers.list, b->transfers.list,
				    a->transfers.count * sizeof(*a->transfers.list));
}

/* The last transfer stays, which a batch may end that comes. */
static void keep_last(struct way *way)
{
	if (way->transfers.count > 1) {
		way->transfers.list[0] = way->transfers.list[way->transfers.count - 1];
		way->transfers.count = 1;
	}
}

static int consume(void *context, void *partial, const struct flow_segment *segment, const struct flow_batch *batch)
{
	struct view *view = context;
	struct way *a = &view->by_runs, *b = &view->by_blocks;
	struct flow_batch nameless = *batch;

	(void)partial;
	nameless.generation = 0;
	assert_int_equal(dump_transfers_add(&a->transfers, &a->tracker, a->cache, segment, batch), 0);
	assert_int_equal(dump_transfers_add(&b->transfers, &b->tracker, b->cache, segment, &nameless), 0);
	add_others(view, segment, batch);
	assert_same_way(a, b);
	assert_same_way(a, &view->by_others);
	view->count += a->transfers.count;
	keep_last(a);
	keep_last(b);
	keep_last(&view->by_others);
	return 0;
}

static int emit(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon)
{
	(void)context;
	(void)segment;
	(void)partial;
	(void)horizon;
	return 0;
}

static void drop(void *context, void *partial)
{
	(void)context;
	(void)partial;
}

/* How many transfers there are. */
static size_t compare(size_t piece)
{
	struct view context = {0};
	const struct flow_view view = {
		.context = &context, .begin = begin, .consume = consume, .emit = emit, .drop = drop};
	const struct flow_view_options options = {.threads = 1};
	struct ptl_trace *trace = make_trace(piece);
	struct flow_timeline *timeline;
	struct flow_symbols *symbols;
	struct dump_function_table *functions;

	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	assert_int_equal(flow_symbols_open(trace, timeline, true, &symbols), 0);
	assert_int_equal(dump_functions_open(timeline, symbols, &functions), 0);
	context.by_runs.cache = dump_place_cache_new(timeline, functions, 0);
	context.by_blocks.cache = dump_place_cache_new(timeline, functions, 0);
	context.by_others.cache = dump_place_cache_new(timeline, functions, 0);
	assert_true(context.by_runs.cache && context.by_blocks.cache && context.by_others.cache);
	assert_int_equal(flow_view_run(trace, timeline, &options, &view), 0);
	dump_place_cache_free(context.by_runs.cache);
	dump_place_cache_free(context.by_blocks.cache);
	dump_place_cache_free(context.by_others.cache);
	dump_transfers_free(&context.by_others.transfers);
	dump_transfers_free(&context.by_runs.transfers);
	dump_transfers_free(&context.by_blocks.transfers);
	dump_functions_close(functions);
	flow_symbols_close(symbols);
	flow_timeline_free(timeline);
	ptl_close(trace);
	return context.count;
}

static struct random_seeds seeds;

static void damage(unsigned bits)
{
	for (unsigned i = 0; i < bits; i++)
		flow->pt[pt_random_below(&flow->random, (uint32_t)flow->pt_size)] ^=
			(uint8_t)(1u << pt_random_below(&flow->random, 8));
}

static void random_programs(void **state)
{
	static const unsigned features[] = {0, FLOW_ALL, FLOW_ALL | FLOW_POPS | FLOW_MODERN | FLOW_CLOCK};
	size_t count = 0;

	(void)state;
	seeds = random_flow_seeds(40);
	while (random_flow_next(&seeds)) {
		random_flow_make_with(flow, seeds.seed, STEPS, 1, features[seeds.seed % 3]);
		count += compare(flow->code_size);
		count += compare(1000);
		count += compare(100);
		for (unsigned round = 0; round < 3; round++) {
			damage(20);
			compare(300);
		}
	}
	assert_true(count > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs)};
	int failures = cmocka_run_group_tests(tests, set_up, tear_down);

	random_flow_report(&seeds);
	return failures;
}
