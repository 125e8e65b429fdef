/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests PT of a CPU that ran several threads: context switches assign PT to threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/profile/stats.h"
#include "flow/engine/engine.h"
#include "flow/segment/replay.h"
#include "tests/unit/dump_trace.h"

#define CPU 3
#define PSB "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82"
#define MODE_64 "\x99\x01"
#define PSBEND "\x02\x23"
#define TSC(high) "\x19\x00" high "\x00\x00\x00\x00\x00" /* high * 0x100 */
#define PGD "\x01"
#define FIRST "\x7d\x00\x00\x40\x00\x00\x00" /* FUP 0x400000 */
#define AGAIN "\x31\x03\x00"                 /* TIP.PGE ..0003 */
#define WHOLE "\x71\x03\x00\x40\x00\x00\x00" /* TIP.PGE 0x400003 */
#define OVF "\x02\xf3"
#define PIP_HOST "\x02\x43\x10\x00\x00\x00\x00\x00"
#define PIP_GUEST "\x02\x43\x11\x00\x00\x00\x00\x00"
#define START PSB TSC("\x10") MODE_64 FIRST PSBEND
#define START_DISABLED PSB TSC("\x40") MODE_64 PSBEND

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

/* Code of both processes at the same addresses: NOPs and SYSCALLs. */
static const uint8_t code_a[] = {0x90, 0x0f, 0x05, 0x90, 0x90, 0x0f, 0x05};
static const uint8_t code_b[] = {0x90, 0x0f, 0x05, 0x90, 0x90, 0x90, 0x90, 0x90, 0x0f, 0x05};
#define FIRST_A 2
#define AGAIN_A 3
#define AGAIN_B 6

static const struct ptl_machine machine = {
	.source = "test", .mode = 64, .clock = PTL_CLOCK_MONOTONIC, .tsc_multiplier = 1};

static void start(struct dump_trace *made)
{
	dump_trace_start(made, &machine);
	for (uint32_t pid = 10; pid <= 20; pid += 10) {
		const struct ptl_process_event data = {.process_id = pid, .image_file_name = "p", .command_line = "p"};

		dump_trace_process(made, 1, PTL_OPCODE_START, &data);
		dump_trace_thread(made, 1, PTL_OPCODE_START, pid, pid + 1);
	}
	dump_trace_load(made, 2, 10, "a", 0x400000, 0x1000, code_a, sizeof(code_a));
	dump_trace_load(made, 2, 20, "b", 0x400000, 0x1000, code_b, sizeof(code_b));
}

static void go_over(struct dump_trace *made, uint64_t time, uint32_t old, uint32_t pid, uint32_t tid)
{
	const struct ptl_switch_event data = {.new_thread = tid, .old_thread = old};
	struct ptl_event event = {0};

	assert_int_equal(ptl_switch_encode(&data, &made->storage, &event), 0);
	event.time = time;
	event.cpu = CPU;
	event.pid = tid ? pid : old - 1;
	event.tid = tid ? tid : old;
	assert_int_equal(ptl_writer_event(made->writer, made->events, &event), 0);
	common_bytes_free(&made->storage);
}

static void add_packets(struct dump_trace *made, uint32_t cpu, uint32_t pid, const uint8_t *bytes, size_t size)
{
	struct ptl_stream stream = {
		.kind = PTL_KIND_PT, .cpu = cpu, .pid = pid, .tid = pid == PTL_NO_ID ? pid : pid + 1};
	const uint8_t *second = memmem(bytes + 16, size - 16, PSB, 16);

	assert_int_equal(ptl_writer_stream(made->writer, &stream), 0);
	assert_int_equal(ptl_writer_psb(made->writer, stream.id, 0, 0x1000), 0);
	if (second)
		assert_int_equal(ptl_writer_psb(made->writer, stream.id, (uint64_t)(second - bytes), 0x4000), 0);
	assert_int_equal(ptl_writer_bytes(made->writer, stream.id, bytes, size, 0x1000), 0);
}

static void count(struct ptl_trace *trace, const struct flow_engine_class *engine, unsigned threads, bool hash,
		  struct analysis_stats *stats)
{
	const struct flow_view_options options = {.engine = engine, .threads = threads};
	struct flow_timeline *timeline;

	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	assert_int_equal(analysis_stats_run(trace, timeline, &options,
					    &(struct analysis_stats_wanted){.hash = hash, .gap_limit = 16}, stats),
			 0);
	flow_timeline_free(timeline);
}

struct expected {
	uint32_t tid;
	uint64_t instructions;
};

/* Checks that each engine, with any number of workers, gives these threads and this many gaps of unknown ownership. */
static void check(struct ptl_trace *trace, const struct expected *expected, size_t threads, uint64_t gaps,
		  uint64_t bytes)
{
	for (unsigned i = 0; flow_engines[i]; i++) {
		for (unsigned run = 0; run < 4; run++) {
			struct analysis_stats stats;

			count(trace, flow_engines[i], run & 1 ? 1 : 3, run & 2, &stats);
			assert_int_equal(stats.thread_count, threads);
			for (size_t t = 0; t < threads; t++) {
				assert_int_equal(stats.threads[t].tid, expected[t].tid);
				assert_int_equal(stats.threads[t].counts.instructions, expected[t].instructions);
			}
			assert_int_equal(stats.total.gap_causes[FLOW_GAP_SWITCH], gaps);
			assert_int_equal(stats.total.gap_bytes[FLOW_GAP_SWITCH], bytes);
			assert_int_equal(stats.total.gaps - stats.total.overflows, gaps);
			analysis_stats_free(&stats);
		}
	}
}

/* Threads A, B and A run in turn, and a time surrounds each switch; also recorded as streams of threads. */
static void told_apart(void **state)
{
	static const struct expected expected[] = {{11, FIRST_A + 2 * AGAIN_A}, {21, 2 * AGAIN_B}};
	struct analysis_stats apart, alone;
	struct dump_trace made;
	struct ptl_trace *trace;

	(void)state;
	start(&made);
	go_over(&made, 0x1800, 11, 20, 21);
	go_over(&made, 0x2800, 21, 10, 11);
	go_over(&made, 0x3800, 11, 20, 21);
	go_over(&made, 0x4800, 21, 10, 11);
	add_packets(&made, CPU, PTL_NO_ID,
		    BYTES(START PGD TSC("\x20") AGAIN TSC("\x21") PGD TSC("\x30") AGAIN TSC("\x31")
				  PGD START_DISABLED WHOLE TSC("\x41") PGD TSC("\x50") AGAIN TSC("\x51") PGD));
	trace = dump_trace_finish(&made);
	check(trace, expected, 2, 0, 0);
	count(trace, NULL, 2, true, &apart);
	ptl_close(trace);

	start(&made);
	add_packets(&made, PTL_NO_CPU, 10, BYTES(START PGD AGAIN PGD AGAIN PGD));
	add_packets(&made, PTL_NO_CPU, 20, BYTES(PSB TSC("\x10") MODE_64 PSBEND WHOLE PGD AGAIN PGD));
	trace = dump_trace_finish(&made);
	count(trace, NULL, 2, true, &alone);
	ptl_close(trace);
	assert_int_equal(alone.thread_count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_memory_equal(apart.threads[i].ip_sha256, alone.threads[i].ip_sha256, 32);
	analysis_stats_free(&apart);
	analysis_stats_free(&alone);
}

/* Coarse time: the switch may belong to either pause, so nobody owns the flow between both pauses. */
static void coarse_time(void **state)
{
	static const struct expected expected[] = {{11, FIRST_A}, {21, AGAIN_B}};
	struct dump_trace made;
	struct ptl_trace *trace;

	(void)state;
	start(&made);
	go_over(&made, 0x1800, 11, 20, 21);
	add_packets(&made, CPU, PTL_NO_ID, BYTES(START PGD AGAIN PGD AGAIN TSC("\x20") PGD));
	trace = dump_trace_finish(&made);
	check(trace, expected, 2, 1, sizeof(AGAIN PGD) - 1);
	ptl_close(trace);
}

/* As coarse_time. A guest's TSC, which has an offset, does not tell that the switch is in the first pause. */
static void time_of_guest(void **state)
{
	static const struct expected expected[] = {{11, AGAIN_A}, {21, AGAIN_B}};
	static const char apart[] = PIP_GUEST TSC("\x70") PIP_HOST AGAIN PGD;
	struct dump_trace made;
	struct ptl_trace *trace;

	(void)state;
	start(&made);
	go_over(&made, 0x1800, 11, 20, 21);
	add_packets(&made, CPU, PTL_NO_ID,
		    BYTES(PSB TSC("\x10") PIP_HOST MODE_64 PSBEND WHOLE TSC("\x11") PGD PIP_GUEST TSC("\x70")
				  PIP_HOST AGAIN PGD TSC("\x20") AGAIN TSC("\x21") PGD));
	trace = dump_trace_finish(&made);
	check(trace, expected, 2, 1, sizeof(apart) - 1);
	ptl_close(trace);
}

/* No pause at the time of the switch, or an overflow there: up to the next pause the owner is unknown. */
static void no_pause(void **state)
{
	static const struct expected gap[] = {{11, 0}}, overflow[] = {{11, 0}, {21, AGAIN_B}};
	struct dump_trace made;
	struct ptl_trace *trace;

	(void)state;
	start(&made);
	go_over(&made, 0x1800, 11, 20, 21);
	add_packets(&made, CPU, PTL_NO_ID, BYTES(START TSC("\x20") PGD));
	trace = dump_trace_finish(&made);
	check(trace, gap, 1, 1, sizeof(START TSC("\x20") PGD) - 1);
	ptl_close(trace);

	start(&made);
	go_over(&made, 0x1800, 11, 20, 21);
	add_packets(&made, CPU, PTL_NO_ID,
		    BYTES(START OVF "\x7d\x03\x00\x40\x00\x00\x00" TSC("\x20") PGD TSC("\x30") AGAIN TSC("\x31") PGD));
	trace = dump_trace_finish(&made);
	check(trace, overflow, 2, 1, sizeof(OVF FIRST TSC("\x20") PGD) - 1);
	ptl_close(trace);
}

/* The CPU becomes idle, which identifies the thread before. */
static void idle(void **state)
{
	struct analysis_stats stats;
	struct dump_trace made;
	struct ptl_trace *trace;

	(void)state;
	start(&made);
	go_over(&made, 0x1400, 11, 0, 0);
	go_over(&made, 0x1800, 0, 20, 21);
	add_packets(&made, CPU, PTL_NO_ID, BYTES(START PGD TSC("\x20") AGAIN TSC("\x21") PGD));
	trace = dump_trace_finish(&made);
	count(trace, NULL, 1, false, &stats);
	assert_int_equal(stats.thread_count, 2);
	assert_int_equal(stats.threads[0].counts.instructions, FIRST_A);
	assert_int_equal(stats.threads[1].counts.instructions, AGAIN_B);
	assert_int_equal(stats.total.gaps, 0);
	analysis_stats_free(&stats);
	ptl_close(trace);
}

/* call ..0a; SYSCALL; NOPs; ..0a: SYSCALL; RET. A process makes the call, and the other process returns. */
static const uint8_t code_calls[] = {0xe8, 5, 0, 0, 0, 0x0f, 0x05, 0x90, 0x90, 0x90, 0x0f, 0x05, 0xc3};
#define BACK "\x71\x0c\x00\x40\x00\x00\x00" /* TIP.PGE 0x40000c */
#define TAKEN "\x06"

/* A compressed return goes to the call of another thread, of whose code `known` bytes are in the trace. */
static struct ptl_trace *return_over_switch(size_t known)
{
	struct dump_trace made;

	start(&made);
	dump_trace_load(&made, 3, 10, "calls", 0x400000, sizeof(code_calls), code_calls, known);
	dump_trace_load(&made, 3, 20, "calls", 0x400000, sizeof(code_calls), code_calls, sizeof(code_calls));
	go_over(&made, 0x1800, 11, 20, 21);
	add_packets(&made, CPU, PTL_NO_ID, BYTES(START PGD TSC("\x20") BACK TSC("\x21") TAKEN PGD));
	return dump_trace_finish(&made);
}

static void returns_over_switch(void **state)
{
	static const struct expected expected[] = {{11, 2}, {21, 2}};
	struct ptl_trace *trace = return_over_switch(sizeof(code_calls));

	(void)state;
	check(trace, expected, 2, 0, 0);
	ptl_close(trace);
}

/* Calls behind the gap in the other thread are unknown, so the return is a gap, too. */
static void returns_into_gap(void **state)
{
	struct ptl_trace *trace = return_over_switch(8);

	(void)state;
	for (unsigned run = 0; run < 4; run++) {
		struct analysis_stats stats;

		count(trace, &flow_engine_native, run & 1 ? 1 : 3, run & 2, &stats);
		assert_int_equal(stats.threads[0].counts.instructions, 1);
		assert_int_equal(stats.threads[1].counts.instructions, 1);
		assert_int_equal(stats.total.gaps, 2);
		assert_int_equal(stats.total.gap_causes[FLOW_GAP_CODE], 1);
		assert_int_equal(stats.total.gap_causes[FLOW_GAP_SWITCH], 1);
		analysis_stats_free(&stats);
	}
	ptl_close(trace);
}

/* The prefix of a part is replayed for time and state; an invalid prefix is refused. */
static void replay(void **state)
{
	uint8_t bytes[128];
	const size_t skip = sizeof(START PGD TSC("\x20")) - 1;

	(void)state;
	memcpy(bytes, START PGD TSC("\x20") AGAIN PGD, skip + 4);
	assert_int_equal(flow_segment_replay(bytes, skip + 4, skip, &(struct flow_errata){0}), 0);
	assert_memory_equal(bytes, PSB TSC("\x10") MODE_64 PSBEND TSC("\x20") "\0\0\0\0" WHOLE PGD, skip + 4);
	memcpy(bytes, START PGD, sizeof(START PGD) - 1);
	bytes[sizeof(START) - 1] = 0xf1; /* reserved IPBytes */
	assert_int_equal(
		flow_segment_replay(bytes, sizeof(START PGD) - 1, sizeof(START PGD) - 1, &(struct flow_errata){0}),
		PTL_CORRUPT);
	assert_int_equal(flow_segment_replay(bytes, sizeof(START) - 1, 4, &(struct flow_errata){0}), PTL_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_apart),
		cmocka_unit_test(coarse_time),
		cmocka_unit_test(time_of_guest),
		cmocka_unit_test(no_pause),
		cmocka_unit_test(idle),
		cmocka_unit_test(returns_over_switch),
		cmocka_unit_test(returns_into_gap),
		cmocka_unit_test(replay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
