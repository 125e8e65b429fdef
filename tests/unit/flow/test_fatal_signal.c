/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that the timeline knows the thread whose signal ended a process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flow/timeline/timeline.h"
#include "tests/unit/dump_trace.h"

static const struct ptl_machine machine = {.source = "test", .mode = 64, .clock = PTL_CLOCK_MONOTONIC};

static void process(struct dump_trace *made, uint64_t time, uint8_t opcode, int32_t exit_status)
{
	const struct ptl_process_event data = {
		.unique_key = 1,
		.process_id = 7,
		.exit_status = exit_status,
		.has_exit_status = opcode == PTL_OPCODE_END && exit_status >= 0,
		.image_file_name = "/bin/sh",
		.command_line = "sh",
	};

	dump_trace_process(made, time, opcode, &data);
}

static void takes_signal(struct dump_trace *made, uint64_t time, uint32_t tid, uint32_t signal)
{
	const struct ptl_signal_event data = {
		.process_id = 7,
		.thread_id = tid,
		.signal = signal,
		.code = 1,
		.has_address = true,
		.address = time,
	};
	struct ptl_event event = {0};

	assert_int_equal(ptl_signal_encode(&data, &made->storage, &event), 0);
	dump_trace_event(made, &event, time);
}

/* Signals 11 of thread 8 and 6 of thread 9, then the end. */
static struct flow_fatal_signal fatal_of(int32_t exit_status)
{
	struct flow_timeline *timeline = NULL;
	struct flow_fatal_signal fatal;
	struct dump_trace made;
	struct ptl_trace *trace;

	dump_trace_start(&made, &machine);
	process(&made, 10, PTL_OPCODE_START, 0);
	takes_signal(&made, 20, 8, 11);
	takes_signal(&made, 21, 9, 6);
	takes_signal(&made, 22, 7, 6);
	process(&made, 30, PTL_OPCODE_END, exit_status);
	takes_signal(&made, 40, 9, 15);
	trace = dump_trace_finish(&made);
	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	assert_int_equal(flow_timeline_skipped(timeline), 0);
	assert_int_equal(flow_timeline_process_count(timeline), 1);
	fatal = flow_timeline_process(timeline, 0)->fatal;
	flow_timeline_free(timeline);
	ptl_close(trace);
	return fatal;
}

static void first_signal_of_the_exit_status(void **state)
{
	struct flow_fatal_signal fatal = fatal_of(11);

	(void)state;
	assert_int_equal(fatal.tid, 8);
	assert_int_equal(fatal.signal, 11);
	assert_int_equal(fatal.time, 20);
	assert_int_equal(fatal.code, 1);
	assert_true(fatal.has_address && fatal.address == 20);
	/* with a core dump */
	assert_int_equal(fatal_of(6 | 0x80).tid, 9);
	assert_int_equal(fatal_of(6).time, 21);
}

static void other_ends(void **state)
{
	(void)state;
	assert_int_equal(fatal_of(3 << 8).signal, 0);
	assert_int_equal(fatal_of(0).signal, 0);
	assert_int_equal(fatal_of(9).signal, 0);
	/* unknown exit status: the first report */
	assert_int_equal(fatal_of(-1).tid, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_signal_of_the_exit_status),
		cmocka_unit_test(other_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
