/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests PT of a CPU on which random programs take turns: the return stack continues over context switches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "flow/engine/engine.h"
#include "tests/unit/random_flow_parts.h"
#include "tests/unit/random_truth.h"

#define CPU 2
#define PROGRAMS 3
#define TURNS 150
#define PID(index) (10 + 10 * (uint32_t)(index))

static const struct ptl_machine machine = {
	.source = "test", .mode = 64, .clock = PTL_CLOCK_MONOTONIC, .tsc_multiplier = 1};

struct psb {
	uint64_t offset, time;
};

/* A CPU and its programs. The first two programs have the same code at the same addresses. Large. */
static struct turns {
	struct random_flow flows[PROGRAMS];
	uint32_t at[PROGRAMS]; /* next address of each program */
	uint8_t pt[RANDOM_FLOW_PT];
	size_t pt_size;
	struct psb psbs[RANDOM_FLOW_SEGMENTS];
	size_t psb_count;
	unsigned handed; /* number of calls on the CPU's return stack when a turn begins */
} * turns;

static int set_up(void **state)
{
	(void)state;
	turns = malloc(sizeof(*turns));
	return turns ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(turns);
	return 0;
}

/* Passes the CPU's state from a program to the next. */
static void hand_over(struct random_flow *to, const struct random_flow *from)
{
	to->last_ip = from->last_ip;
	to->clock = from->clock;
	memcpy(to->cpu_stack, from->cpu_stack, sizeof(to->cpu_stack));
	to->cpu_top = from->cpu_top;
	to->cpu_count = from->cpu_count;
}

/* Appends a turn's packets. */
static void append(struct random_flow *flow)
{
	size_t at = 0;

	assert_true(turns->pt_size + flow->pt_size <= sizeof(turns->pt));
	memcpy(turns->pt + turns->pt_size, flow->pt, flow->pt_size);
	for (unsigned i = 0; i < flow->segments; i++, at += PTL_PT_PSB_SIZE) {
		at = ptl_pt_find_psb(flow->pt, flow->pt_size, at);
		assert_true(at < flow->pt_size && turns->psb_count < RANDOM_FLOW_SEGMENTS);
		turns->psbs[turns->psb_count++] = (struct psb){turns->pt_size + at, flow->segment_clock[i]};
	}
	turns->pt_size += flow->pt_size;
	flow->pt_size = flow->segments = 0;
}

static void go_over(struct dump_trace *made, uint64_t time, size_t from, size_t to)
{
	const struct ptl_switch_event data = {.new_thread = PID(to), .old_thread = PID(from)};
	struct ptl_event event = {0};

	assert_int_equal(ptl_switch_encode(&data, &made->storage, &event), 0);
	event.time = time;
	event.cpu = CPU;
	event.pid = event.tid = PID(to);
	assert_int_equal(ptl_writer_event(made->writer, made->events, &event), 0);
	common_bytes_free(&made->storage);
}

static void begin_programs(uint64_t seed, unsigned features, struct dump_trace *made)
{
	turns->pt_size = turns->psb_count = turns->handed = 0;
	for (size_t i = 0; i < PROGRAMS; i++) {
		const struct ptl_process_event data = {
			.process_id = PID(i), .image_file_name = "p", .command_line = "p"};
		struct random_flow *flow = &turns->flows[i];

		random_flow_begin(flow, 2 * seed + i / 2, 1, FLOW_32);
		flow->features = features;
		flow->return_compression = true;
		/* Sometimes both programs run identically, like a fork. */
		if (i == 1 && seed % 2)
			flow->random = pt_random(seed + 1000);
		turns->at[i] = random_flow_anywhere(flow);
		dump_trace_process(made, 1, PTL_OPCODE_START, &data);
		dump_trace_thread(made, 1, PTL_OPCODE_START, PID(i), PID(i));
		dump_trace_load(made, 2, PID(i), "p", flow->base, flow->code_size, flow->code, flow->code_size);
	}
}

static struct ptl_trace *take_turns(uint64_t seed, unsigned features)
{
	struct ptl_stream stream = {.kind = PTL_KIND_PT, .cpu = CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	struct pt_random random = pt_random(seed ^ 0x7777);
	struct dump_trace made;
	size_t before = 0;

	dump_trace_start(&made, &machine);
	begin_programs(seed, features, &made);
	for (unsigned turn = 0; turn < TURNS; turn++) {
		const size_t next = (before + pt_random_below(&random, 3) % 2 + (turn % 9 == 8)) % PROGRAMS;
		struct random_flow *flow = &turns->flows[next];

		hand_over(flow, &turns->flows[before]);
		if (!turn || !pt_random_below(&random, 25))
			random_flow_psb(flow, false, 0);
		/* The CPU sends MODE.Exec if packets are enabled in another mode. */
		if (flow->mode != turns->flows[before].mode)
			random_flow_put_mode(flow);
		flow->clock += 10;
		if (next != before || !turn)
			go_over(&made, flow->clock - 5, before, next);
		turns->handed += next != before ? flow->cpu_count : 0;
		turns->at[next] = random_flow_turn(flow, turns->at[next]);
		append(flow);
		before = next;
	}
	assert_int_equal(ptl_writer_stream(made.writer, &stream), 0);
	for (size_t i = 0; i < turns->psb_count; i++)
		assert_int_equal(ptl_writer_psb(made.writer, stream.id, turns->psbs[i].offset, turns->psbs[i].time), 0);
	assert_int_equal(ptl_writer_bytes(made.writer, stream.id, turns->pt, turns->pt_size, turns->psbs[0].time), 0);
	return dump_trace_finish(&made);
}

static struct random_seeds seeds;

static void check(struct ptl_trace *trace, const struct flow_engine_class *engine, unsigned threads)
{
	for (size_t i = 0; i < PROGRAMS; i++) {
		const uint32_t tid = PID(i);
		const struct flow_view_options options = {
			.selection = {.tids = &tid, .tid_count = 1}, .engine = engine, .threads = threads};
		struct random_flow *flow = &turns->flows[i];
		struct seen seen;

		flow->truth_count = flow->proven;
		decode_with(trace, &options, &seen);
		check_truth(flow, &seen);
		free_seen(&seen);
	}
}

/*
 * Every engine gives the executed instructions of each program. Returns to unexpected places are limited to those
 * supported by libipt.
 */
static void with_all_engines(void **state)
{
	unsigned handed = 0;

	(void)state;
	seeds = random_flow_seeds(12);
	while (random_flow_next(&seeds)) {
		struct ptl_trace *trace = take_turns(seeds.seed, FLOW_TURNS | FLOW_CLOCK | FLOW_FORMS | FLOW_DEFERRED);

		for (size_t i = 0; flow_engines[i]; i++)
			check(trace, flow_engines[i], 1 + (unsigned)seeds.seed % 3);
		ptl_close(trace);
		handed += turns->handed;
	}
	assert_true(handed > 100);
}

/* Every return pops its call, as on CPUs. */
static void with_pops(void **state)
{
	(void)state;
	seeds = random_flow_seeds(60);
	while (random_flow_next(&seeds)) {
		struct ptl_trace *trace = take_turns(seeds.seed,
						     FLOW_TURNS | FLOW_CLOCK | FLOW_FORMS | FLOW_DEFERRED | FLOW_POPS);

		check(trace, &flow_engine_native, 1 + (unsigned)seeds.seed % 3);
		ptl_close(trace);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_all_engines),
		cmocka_unit_test(with_pops),
	};
	int failed = cmocka_run_group_tests(tests, set_up, tear_down);

	random_flow_report(&seeds);
	return failed;
}
