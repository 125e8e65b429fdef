/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random programs whose code changes during the run, in one image or many: every engine gives the executed
 * instructions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/profile/stats.h"
#include "tests/unit/random_changes.h"
#include "tests/unit/random_truth.h"

#define PID 7
#define STEPS 12000

static struct random_flow *flow; /* too large for the stack */
static struct random_changes *changes;
static struct random_seeds at_psb, by_time; /* seeds of both tests */

static int set_up(void **state)
{
	(void)state;
	flow = malloc(sizeof(*flow));
	changes = malloc(sizeof(*changes));
	return flow && changes ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(flow);
	free(changes);
	return 0;
}

static struct ptl_machine machine_of(void)
{
	return (struct ptl_machine){
		.source = "test",
		.software = !changes->by_time,
		.mode = 64,
		.clock = PTL_CLOCK_MONOTONIC,
		.tsc_multiplier = 1,
	};
}

/* Loads the first code: an image per range. */
static void load_ranges(struct dump_trace *made)
{
	for (unsigned i = 0; i < flow->range_count; i++) {
		const uint32_t first = flow->ranges[i];
		const uint32_t end = i + 1 < flow->range_count ? flow->ranges[i + 1] : flow->code_size;

		dump_trace_load(made, 1, PID, "part", random_flow_address(flow, first), end - first,
				flow->first_code + first, end - first);
	}
}

/* Returns the time of a segment's PSB; with changes by time, the packets have the same time. */
static uint64_t psb_time(size_t at, size_t segment)
{
	return changes->by_time ? flow->segment_clock[segment] : 100 + at;
}

static struct ptl_trace *make_trace(void)
{
	const struct ptl_machine machine = machine_of();
	struct dump_trace made;
	size_t segment = 0;
	uint32_t stream;

	dump_trace_start(&made, &machine);
	load_ranges(&made);
	for (size_t i = 0; i < changes->count; i++) {
		const struct random_change *change = &changes->list[i];
		const uint64_t time = changes->by_time ? change->clock : 100 + change->at;
		const uint64_t address = random_flow_address(flow, change->first);
		const uint8_t *bytes = changes->bytes + change->bytes;

		if (change->load)
			dump_trace_load(&made, time, PID, "new", address, change->size, bytes, change->size);
		else
			dump_trace_code(&made, time, PID, address, change->size, bytes, change->size);
	}
	stream = dump_trace_stream(&made, PID, PID);
	for (size_t at = 0; (at = ptl_pt_find_psb(flow->pt, flow->pt_size, at)) < flow->pt_size; at += PTL_PT_PSB_SIZE)
		assert_int_equal(ptl_writer_psb(made.writer, stream, at, psb_time(at, segment++)), 0);
	assert_true(segment == flow->segments && segment <= RANDOM_FLOW_SEGMENTS);
	assert_int_equal(ptl_writer_bytes(made.writer, stream, flow->pt, flow->pt_size, psb_time(0, 0)), 0);
	return dump_trace_finish(&made);
}

/* Counting alone takes another way through the native engine. */
static void check_counts(struct ptl_trace *trace, unsigned threads)
{
	const struct flow_view_options options = {.engine = &flow_engine_native, .threads = threads};
	struct flow_timeline *timeline;
	struct analysis_stats stats;

	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	assert_int_equal(analysis_stats_run(trace, timeline, &options,
					    &(struct analysis_stats_wanted){.hash = false, .gap_limit = 0}, &stats),
			 0);
	assert_int_equal(stats.total.instructions, flow->truth_count);
	assert_int_equal(stats.total.overflows, flow->overflows);
	assert_int_equal(stats.total.gaps, flow->overflows);
	analysis_stats_free(&stats);
	flow_timeline_free(timeline);
}

static void check_engine(struct ptl_trace *trace, const struct flow_engine_class *engine, unsigned threads,
			 struct seen *first)
{
	struct seen seen;

	decode(trace, engine, threads, &seen);
	check_truth(flow, &seen);
	if (!first->blocks)
		*first = (struct seen){.blocks = seen.blocks, .branches = seen.branches};
	assert_int_equal(seen.blocks, first->blocks);
	assert_int_equal(seen.branches, first->branches);
	free_seen(&seen);
}

/* The software recorder makes a PSB for each change. */
static void code_changes_at_a_psb(void **state)
{
	(void)state;
	at_psb = random_flow_seeds(60);
	while (random_flow_next(&at_psb)) {
		const uint64_t seed = at_psb.seed;
		struct seen first = {.blocks = 0};
		struct ptl_trace *trace;

		random_flow_make_changing(flow, seed, STEPS, 1 + (unsigned)(seed * seed % RANDOM_FLOW_RANGES), FLOW_ALL,
					  changes, false);
		trace = make_trace();
		for (size_t i = 0; flow_engines[i]; i++)
			check_engine(trace, flow_engines[i], 1 + seed % 3, &first);
		check_counts(trace, 1 + seed % 3);
		ptl_close(trace);
	}
}

/*
 * A CPU makes no PSB for a change. The libipt engines differ in some programs with returns: see test_version_orders.c.
 */
static void code_changes_by_time(void **state)
{
	(void)state;
	by_time = random_flow_seeds(60);
	while (random_flow_next(&by_time)) {
		const uint64_t seed = by_time.seed;
		struct seen first = {.blocks = 0};
		struct ptl_trace *trace;

		random_flow_make_changing(
			flow, seed, STEPS, 1 + (unsigned)(seed * seed % RANDOM_FLOW_RANGES),
			FLOW_FORMS | FLOW_EVENTS | FLOW_DEFERRED | FLOW_32 | FLOW_RESTART | FLOW_MODERN, changes, true);
		trace = make_trace();
		check_engine(trace, &flow_engine_native, 1 + seed % 3, &first);
		check_counts(trace, 1 + seed % 3);
		ptl_close(trace);
	}
}

/* ---- a loop that counting takes many bits of at a time ----------------------------------------------------- */

#define LOOP 0x400000ull
#define LOOP_SEGMENTS 60
#define LOOP_PACKETS 60 /* TNT packets of 47 bits each */

/* Three versions of eight bytes, and JZ back to them. */
static const struct {
	uint8_t code[10];
	unsigned instructions;
} loops[] = {
	{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x74, 0xf6}, 9},
	{{0x89, 0xd8, 0x89, 0xd8, 0x89, 0xd8, 0x89, 0xd8, 0x74, 0xf6}, 5},
	{{0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00, 0x74, 0xf6}, 2},
};

static size_t put_loop_segment(uint8_t *pt)
{
	uint64_t last_ip = 0;
	size_t size = format_pt_put_psb(pt);

	size += format_pt_put_mode_exec(pt + size, true, false, true);
	size += format_pt_put_fup(pt + size, &last_ip, LOOP);
	size += format_pt_put_psbend(pt + size);
	for (unsigned i = 0; i < LOOP_PACKETS; i++)
		size += format_pt_put_tnt(pt + size, (1ull << (FORMAT_PT_TNT_64_MAX + 1)) - 1);
	return size;
}

/* The loop's code differs in each segment: by an image, a code event, or both. */
static void loops_that_change(void **state)
{
	const struct ptl_machine machine = {
		.source = "test", .software = true, .mode = 64, .clock = PTL_CLOCK_MONOTONIC, .tsc_multiplier = 1};
	static uint8_t pt[LOOP_SEGMENTS * LOOP_PACKETS * 16];
	struct flow_view_options options = {.engine = &flow_engine_native};
	struct pt_random random = pt_random(1);
	struct flow_timeline *timeline;
	struct dump_trace made;
	uint64_t expected = 0;
	uint32_t stream;
	size_t size = 0;

	(void)state;
	dump_trace_start(&made, &machine);
	dump_trace_load(&made, 1, PID, "loop", LOOP, 0x1000, loops[0].code, sizeof(loops[0].code));
	stream = dump_trace_stream(&made, PID, PID);
	for (unsigned i = 0; i < LOOP_SEGMENTS; i++) {
		const size_t n = pt_random_below(&random, 3);

		if (pt_random_below(&random, 4))
			dump_trace_code(&made, 10 + i, PID, LOOP, sizeof(loops[n].code), loops[n].code,
					sizeof(loops[n].code));
		else
			dump_trace_load(&made, 10 + i, PID, "loop", LOOP, 0x1000, loops[n].code, sizeof(loops[n].code));
		assert_int_equal(ptl_writer_psb(made.writer, stream, size, 10 + i), 0);
		size += put_loop_segment(pt + size);
		expected += (uint64_t)LOOP_PACKETS * FORMAT_PT_TNT_64_MAX * loops[n].instructions;
	}
	assert_int_equal(ptl_writer_bytes(made.writer, stream, pt, size, 10), 0);
	struct ptl_trace *trace = dump_trace_finish(&made);

	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	for (options.threads = 1; options.threads < 4; options.threads++) {
		struct analysis_stats stats;

		assert_int_equal(analysis_stats_run(trace, timeline, &options,
						    &(struct analysis_stats_wanted){.hash = false, .gap_limit = 0},
						    &stats),
				 0);
		assert_int_equal(stats.total.gaps, 0);
		assert_int_equal(stats.total.instructions, expected);
		analysis_stats_free(&stats);
	}
	flow_timeline_free(timeline);
	ptl_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_changes_at_a_psb),
		cmocka_unit_test(code_changes_by_time),
		cmocka_unit_test(loops_that_change),
	};
	int failures = cmocka_run_group_tests(tests, set_up, tear_down);

	random_flow_report(&at_psb);
	random_flow_report(&by_time);
	return failures;
}
