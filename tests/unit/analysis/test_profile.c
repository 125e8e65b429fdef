/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares a profile's counts with counts from blocks in order, by the same engine and by libipt. Random programs run
 * whole and damaged, in one image and in pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/profile/profile.h"
#include "tests/unit/dump_trace.h"
#include "tests/unit/random_fixture.h"

#define PID 7
#define STEPS 20000

/* Adds code as images of odd sizes; every second piece by a code event. */
static void add_code(struct dump_trace *made, size_t piece)
{
	for (size_t at = 0, number = 0; at < flow->code_size; at += piece, number++) {
		const size_t size = flow->code_size - at < piece ? flow->code_size - at : piece;

		if (number % 2)
			dump_trace_code(made, 2, PID, flow->base + at, size, flow->code + at, size);
		else
			dump_trace_load(made, 1, PID, "part", flow->base + at, size, flow->code + at, size);
	}
}

static void add_flow(struct dump_trace *made, uint32_t pid)
{
	const uint32_t stream = dump_trace_stream(made, pid, pid);

	for (size_t at = 0; (at = ptl_pt_find_psb(flow->pt, flow->pt_size, at)) < flow->pt_size; at += PTL_PT_PSB_SIZE)
		assert_int_equal(ptl_writer_psb(made->writer, stream, at, 100 + at), 0);
	assert_int_equal(ptl_writer_bytes(made->writer, stream, flow->pt, flow->pt_size, 100), 0);
}

static struct ptl_trace *make_trace(size_t piece)
{
	struct dump_trace made;

	dump_trace_start(&made, &machine);
	add_code(&made, piece);
	add_flow(&made, PID);
	return dump_trace_finish(&made);
}

/*
 * Processes with programs of these names; processes with the same name are alike. There are more programs than cached
 * codes.
 */
static const char programs[] = "abacdefabdcfeafb";

static struct ptl_trace *make_processes(void)
{
	struct dump_trace made;

	dump_trace_start(&made, &machine);
	for (uint32_t i = 0; programs[i]; i++) {
		const char name[] = {programs[i], 0};

		dump_trace_load(&made, 1, PID + i, name, flow->base, flow->code_size, flow->code, flow->code_size);
	}
	for (uint32_t i = 0; programs[i]; i++)
		add_flow(&made, PID + i);
	return dump_trace_finish(&made);
}

static void count(struct ptl_trace *trace, const struct flow_timeline *timeline,
		  const struct flow_view_options *options, struct analysis_profile *profile)
{
	assert_int_equal(analysis_profile_run(trace, timeline, options, true, profile), 0);
}

static void assert_equal(const struct analysis_profile *a, const struct analysis_profile *b)
{
	assert_int_equal(a->instructions, b->instructions);
	assert_int_equal(a->missing.gaps, b->missing.gaps);
	assert_int_equal(a->missing.pt_bytes, b->missing.pt_bytes);
	assert_memory_equal(a->missing.gap_bytes, b->missing.gap_bytes, sizeof(a->missing.gap_bytes));
	assert_int_equal(a->block_count, b->block_count);
	for (size_t i = 0; i < a->block_count; i++) {
		assert_int_equal(a->blocks[i].content, b->blocks[i].content);
		assert_int_equal(a->blocks[i].image, b->blocks[i].image);
		assert_int_equal(a->blocks[i].address, b->blocks[i].address);
		assert_int_equal(a->blocks[i].size, b->blocks[i].size);
		assert_int_equal(a->blocks[i].count, b->blocks[i].count);
		assert_int_equal(a->blocks[i].taken, b->blocks[i].taken);
		assert_int_equal(a->blocks[i].not_taken, b->blocks[i].not_taken);
	}
	assert_int_equal(a->edge_count, b->edge_count);
	for (size_t i = 0; i < a->edge_count; i++) {
		assert_int_equal(a->edges[i].from, b->edges[i].from);
		assert_int_equal(a->edges[i].to, b->edges[i].to);
		assert_int_equal(a->edges[i].count, b->edges[i].count);
	}
}

/* Compares counts with blocks in order. Returns the number of indirect branches. */
static uint64_t compare_trace(struct ptl_trace *trace, unsigned threads, const struct flow_engine_class *engine)
{
	const struct flow_view_options fast = {.threads = threads};
	struct flow_engine_class in_order = *engine;
	const struct flow_view_options walked = {.threads = 1, .engine = &in_order};
	struct flow_timeline *timeline;
	struct analysis_profile counted, expected;
	uint64_t edges = 0;

	in_order.count = NULL;
	in_order.flush = NULL;
	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	count(trace, timeline, &fast, &counted);
	count(trace, timeline, &walked, &expected);
	assert_equal(&counted, &expected);
	for (size_t i = 0; i < counted.edge_count; i++)
		edges += counted.edges[i].count;
	analysis_profile_free(&counted);
	analysis_profile_free(&expected);
	flow_timeline_free(timeline);
	ptl_close(trace);
	return edges;
}

static uint64_t compare(size_t piece, unsigned threads, const struct flow_engine_class *engine)
{
	return compare_trace(make_trace(piece), threads, engine);
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
	uint64_t edges = 0;

	(void)state;
	seeds = random_flow_seeds(60);
	while (random_flow_next(&seeds)) {
		const unsigned threads = 1 + (unsigned)(seeds.seed % 3);

		random_flow_make_with(flow, seeds.seed, STEPS, 1, features[seeds.seed % 3]);
		edges += compare(flow->code_size, threads, &flow_engine_native);
		edges += compare(1000, threads, &flow_engine_native);
		for (unsigned round = 0; round < 3; round++) {
			damage(20);
			compare(flow->code_size, threads, &flow_engine_native);
		}
	}
	assert_true(edges > 0);
}

static void against_libipt(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		random_flow_make_with(flow, seed, STEPS, 1, seed % 2 ? 0 : FLOW_FORMS | FLOW_DEFERRED);
		compare(flow->code_size, 1, &flow_engine_libipt);
	}
}

static void processes_alike(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		random_flow_make_with(flow, seed, STEPS / 4, 1, seed % 2 ? FLOW_ALL : 0);
		compare_trace(make_processes(), 1 + (unsigned)(seed % 2), &flow_engine_native);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs),
		cmocka_unit_test(against_libipt),
		cmocka_unit_test(processes_alike),
	};
	int failures = cmocka_run_group_tests(tests, set_up, tear_down);

	random_flow_report(&seeds);
	return failures;
}
