/* SPDX-License-Identifier: BSD-2-Clause */
/* Random programs whose code changes while they run, and lies in one image or in many: every engine sees what was executed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dump/stats_view.h"
#include "tests/unit/random_changes.h"
#include "tests/unit/random_truth.h"

#define PID 7
#define STEPS 12000

static struct random_flow *flow; /* too large for the stack */
static struct random_changes *changes;
/* The seed at hand of each test: what a failure is repeated with. 0: the test is done, or did not begin. */
static uint64_t at_psb, by_time;

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

/* The code as it is at first: an image for each range. */
static void load_ranges(struct dump_trace *made)
{
	for (unsigned i = 0; i < flow->range_count; i++) {
		const uint32_t first = flow->ranges[i];
		const uint32_t end = i + 1 < flow->range_count ? flow->ranges[i + 1] : flow->code_size;

		dump_trace_load(made, 1, PID, "part", flow_address(flow, first), end - first, flow->first_code + first,
				end - first);
	}
}

/* The time of a segment's PSB; the packets tell it too if changes come by time. */
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
		const uint64_t address = flow_address(flow, change->first);
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
	const struct ptl_view_options options = {.engine = &ptl_engine_native, .threads = threads};
	struct ptl_timeline *timeline;
	struct ptl_stats stats;

	assert_int_equal(ptl_timeline_build(trace, &timeline), 0);
	assert_int_equal(ptl_stats_run(trace, timeline, &options, false, 0, &stats), 0);
	assert_int_equal(stats.total.instructions, flow->truth_count);
	assert_int_equal(stats.total.overflows, flow->overflows);
	assert_int_equal(stats.total.gaps, flow->overflows);
	ptl_stats_free(&stats);
	ptl_timeline_free(timeline);
}

static void check_engine(struct ptl_trace *trace, const struct ptl_engine_class *engine, unsigned threads,
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

/* A recorder in software makes a PSB for each change. */
static void code_changes_at_a_psb(void **state)
{
	const struct random_seeds seeds = random_flow_seeds(60);

	(void)state;
	for (uint64_t seed = at_psb = seeds.first; seed <= seeds.last; at_psb = ++seed) {
		struct seen first = {.blocks = 0};
		struct ptl_trace *trace;

		random_flow_make_changing(flow, seed, STEPS, 1 + (unsigned)(seed * seed % RANDOM_FLOW_RANGES), FLOW_ALL, changes, false);
		trace = make_trace();
		for (size_t i = 0; ptl_engines[i]; i++)
			check_engine(trace, ptl_engines[i], 1 + seed % 3, &first);
		check_counts(trace, 1 + seed % 3);
		ptl_close(trace);
	}
	at_psb = 0;
}

/* A CPU does not. The libipt engines see a change at the next place where they look at the time, so they are left out. */
static void code_changes_by_time(void **state)
{
	const struct random_seeds seeds = random_flow_seeds(60);

	(void)state;
	for (uint64_t seed = by_time = seeds.first; seed <= seeds.last; by_time = ++seed) {
		struct seen first = {.blocks = 0};
		struct ptl_trace *trace;

		random_flow_make_changing(flow, seed, STEPS, 1 + (unsigned)(seed * seed % RANDOM_FLOW_RANGES),
					  FLOW_FORMS | FLOW_EVENTS | FLOW_DEFERRED | FLOW_32 | FLOW_RESTART | FLOW_MODERN,
					  changes, true);
		trace = make_trace();
		check_engine(trace, &ptl_engine_native, 1 + seed % 3, &first);
		check_counts(trace, 1 + seed % 3);
		ptl_close(trace);
	}
	by_time = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_changes_at_a_psb),
		cmocka_unit_test(code_changes_by_time),
	};
	int failures = cmocka_run_group_tests(tests, set_up, tear_down);

	if (at_psb || by_time)
		fprintf(stderr, "repeat: PTL_RANDOM_FIRST=%llu PTL_RANDOM_PROGRAMS=1\n",
			(unsigned long long)(at_psb ? at_psb : by_time));
	return failures;
}
