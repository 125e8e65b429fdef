/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares transfers remembered for whole runs of blocks (steps) with the transfers of the blocks one by one. Compares
 * sums of calls from steps with sums frame by frame. Random programs run whole and damaged, in one image and in pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/call/call_report.h"
#include "analysis/call/place_cache.h"
#include "analysis/call/transfer_state.h"
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

static struct random_seeds seeds;
static size_t all_steps;

struct way {
	struct analysis_place_cache *cache;
	const struct flow_segment *segment; /* current segment */
	struct analysis_tracker tracker;
	struct analysis_transfers transfers; /* transfers of all segments */
	uint64_t instructions;               /* instructions behind the last transfers of segments */
	size_t segments, steps;
};

static int begin(void *context, const struct flow_segment *segment, void **partial)
{
	struct way *way = context;

	way->segment = segment;
	way->tracker = (struct analysis_tracker){0};
	*partial = way;
	return 0;
}

static int consume(void *context, void *partial, const struct flow_segment *segment, const struct flow_batch *batch)
{
	struct way *way = context;

	(void)partial;
	assert_int_equal(analysis_transfers_add(&way->transfers, &way->tracker, way->cache, segment, batch), 0);
	return 0;
}

static int step(void *partial, const struct flow_step *step, uint32_t *home_number)
{
	struct way *way = partial;

	way->steps++;
	assert_int_equal(
		analysis_transfers_step(&way->transfers, &way->tracker, way->cache, way->segment, step, home_number),
		0);
	return 0;
}

/* Emits the rest in the tracker as a transfer, with its time. */
static int emit(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon)
{
	struct way *way = context;

	(void)segment;
	(void)partial;
	(void)horizon;
	assert_int_equal(way->tracker.home_number, 0);
	way->segments++;
	way->instructions += way->tracker.instructions * way->segments + way->tracker.time;
	return 0;
}

static void drop(void *context, void *partial)
{
	(void)context;
	(void)partial;
}

static void find(struct ptl_trace *trace, const struct flow_timeline *timeline,
		 struct analysis_function_table *functions, struct way *way, bool by_steps)
{
	const struct flow_view view = {.context = way,
				       .begin = begin,
				       .consume = consume,
				       .step = by_steps ? step : NULL,
				       .emit = emit,
				       .drop = drop};
	const struct flow_view_options options = {.threads = 1};

	*way = (struct way){.cache = analysis_place_cache_new(timeline, functions, 0)};
	assert_non_null(way->cache);
	assert_int_equal(flow_view_run(trace, timeline, &options, &view), 0);
	analysis_place_cache_free(way->cache);
}

/* Clears the sites of runs, which do not affect the flow. */
static void forget_sites(const struct way *way)
{
	for (size_t i = 0; i < way->transfers.count; i++)
		way->transfers.list[i].site = 0;
}

static void assert_same(const struct way *a, const struct way *b)
{
	assert_int_equal(a->segments, b->segments);
	assert_int_equal(a->instructions, b->instructions);
	assert_int_equal(a->transfers.count, b->transfers.count);
	forget_sites(a);
	forget_sites(b);
	if (a->transfers.count)
		assert_memory_equal(a->transfers.list, b->transfers.list,
				    a->transfers.count * sizeof(*a->transfers.list));
}

/* ---- sums ---------------------------------------------------------------------------------------- */

/* Returns the observer's report of the whole trace. */
static struct analysis_report report(struct ptl_trace *trace, const struct analysis_calls *calls,
				     struct analysis_call_observer observer, unsigned threads)
{
	const struct flow_view_options options = {.threads = threads};
	struct analysis_report report = {.by = ANALYSIS_REPORT_FUNCTION, .calls = calls};

	observer.context = &report;
	assert_int_equal(analysis_calls_run(trace, calls->timeline, &options, calls->functions, &observer), 0);
	analysis_report_sort(&report, 0);
	return report;
}

static void assert_same_report(const struct analysis_report *a, const struct analysis_report *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct analysis_report_row *left = &a->rows[i], *right = &b->rows[i];

		assert_int_equal(left->function, right->function);
		assert_int_equal(left->calls, right->calls);
		assert_int_equal(left->total_time, right->total_time);
		assert_int_equal(left->self_time, right->self_time);
		assert_int_equal(left->total_instructions, right->total_instructions);
		assert_int_equal(left->self_instructions, right->self_instructions);
	}
}

static void compare_sums(struct ptl_trace *trace, const struct analysis_calls *calls)
{
	struct analysis_call_observer frames = analysis_report_observer;
	struct analysis_report expected, found;

	frames.piece = NULL;
	frames.leaf = NULL;
	expected = report(trace, calls, frames, 1);
	found = report(trace, calls, analysis_report_observer, 1 + seeds.seed % 2);
	assert_same_report(&found, &expected);
	analysis_report_free(&found);
	analysis_report_free(&expected);
}

/* Compares the transfers. Returns their number. */
static size_t compare(size_t piece)
{
	struct ptl_trace *trace = make_trace(piece);
	struct way by_steps, by_blocks;
	struct flow_timeline *timeline;
	struct flow_symbols *symbols;
	struct analysis_function_table *functions;
	size_t count;

	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	assert_int_equal(flow_symbols_open(trace, timeline, true, &symbols), 0);
	assert_int_equal(analysis_functions_open(timeline, symbols, &functions), 0);
	find(trace, timeline, functions, &by_steps, true);
	find(trace, timeline, functions, &by_blocks, false);
	assert_same(&by_steps, &by_blocks);
	all_steps += by_steps.steps;
	count = by_steps.transfers.count;
	compare_sums(trace, &(struct analysis_calls){.timeline = timeline, .functions = functions});
	analysis_transfers_free(&by_steps.transfers);
	analysis_transfers_free(&by_blocks.transfers);
	analysis_functions_close(functions);
	flow_symbols_close(symbols);
	flow_timeline_free(timeline);
	ptl_close(trace);
	return count;
}

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
	seeds = random_flow_seeds(24);
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
	assert_true(count > 0 && all_steps > 0);
}

/* A loop that fits any TNT bits, in few patterns, so that the engine passes many bits at once. */
static void loops_within_a_function(void **state)
{
	/* je 3; nop; 3: jne 0; jmp 0 */
	static const uint8_t loop[] = {0x74, 0x01, 0x90, 0x75, 0xfb, 0xeb, 0xf9};
	static const uint64_t patterns[] = {0x5a5a5a5a5a5a, 0x0ff00f0ff00f, 0x123456789abc};
	uint64_t last_ip = 0;
	uint8_t *at;

	(void)state;
	random_flow_make_with(flow, 1, STEPS, 1, 0);
	memcpy(flow->code, loop, sizeof(loop));
	flow->code_size = sizeof(loop);
	at = flow->pt;
	at += format_pt_put_psb(at);
	at += format_pt_put_fup(at, &last_ip, flow->base);
	at += format_pt_put_psbend(at);
	for (unsigned i = 0; i < 600; i++) {
		const uint64_t bits = patterns[pt_random_below(&flow->random, 3)];

		at += i % 7 ? format_pt_put_tnt_64(at, bits | 1ull << 47) : format_pt_put_tnt_8(at, 0x55);
	}
	flow->pt_size = (size_t)(at - flow->pt);
	all_steps = 0;
	compare(flow->code_size);
	assert_true(all_steps > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs),
		cmocka_unit_test(loops_within_a_function),
	};
	int failures = cmocka_run_group_tests(tests, set_up, tear_down);

	random_flow_report(&seeds);
	return failures;
}
