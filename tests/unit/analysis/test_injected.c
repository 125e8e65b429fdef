/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests images added by rewriting a trace of the software source: an image applies from its time on, also inside
 * segments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "flow/engine/engine.h"
#include "analysis/profile/stats.h"
#include "format/pt/encode.h"
#include "tests/unit/dump_trace.h"
#include "tests/unit/dump_seen.h"

#define PID 7
#define BASE 0x401000ull
#define HOLE 0x501000ull

static const uint8_t jumps[] = {0xff, 0xe0, 0xff, 0xe0}; /* jmp rax, twice */
static const uint8_t others[] = {0xff, 0xe1, 0xff, 0xe1};

/* Name of the image of each executed block. */
struct images {
	const struct flow_timeline *timeline;
	const char *names[64];
	uint64_t ips[64];
	size_t count, gaps;
};

static int begin(void *context, const struct flow_segment *segment, void **partial)
{
	(void)segment;
	*partial = context;
	return 0;
}

static int consume(void *context, void *partial, const struct flow_segment *segment, const struct flow_batch *batch)
{
	struct flow_batch_cursor cursor = flow_batch_walk(batch);
	struct images *images = context;

	(void)partial;
	(void)segment;
	while (flow_batch_next(&cursor)) {
		if (cursor.event) {
			images->gaps += cursor.event->kind == FLOW_GAP;
			continue;
		}
		assert_true(images->count < sizeof(images->names) / sizeof(images->names[0]));
		images->ips[images->count] = cursor.block->ip;
		images->names[images->count++] =
			cursor.block->image == FLOW_NONE
				? ""
				: flow_timeline_image(images->timeline, cursor.block->image)->data.file_name;
	}
	return 0;
}

static int merge(void *context, void *left, void *right)
{
	(void)context;
	(void)left;
	(void)right;
	return 0;
}

static int finish(void *context, const struct flow_segment *last, void *result)
{
	(void)context;
	(void)last;
	(void)result;
	return 0;
}

static void drop(void *context, void *partial)
{
	(void)context;
	(void)partial;
}

static void load(struct dump_trace *made, uint64_t time, const char *name, uint64_t base, const uint8_t *code,
		 bool injected)
{
	struct ptl_image_event data = {
		.base = base,
		.size = sizeof(jumps),
		.process_id = PID,
		.file_name = name,
		.protection = PROT_READ | PROT_EXEC,
		.has_code = true,
	};
	struct ptl_event event = {0};

	assert_int_equal(ptl_writer_blob(made->writer, PTL_BLOB_CODE, code, sizeof(jumps), data.code), 0);
	assert_int_equal(ptl_image_encode(&data, PTL_OPCODE_LOAD, &made->storage, &event), 0);
	event.flags = injected ? PTL_EVENT_INJECTED : 0;
	dump_trace_event(made, &event, time);
}

/* The executed flow: three jumps at each time, and their targets. */
static const struct {
	uint64_t time;
	uint64_t at;
	bool psb;
	const char *name; /* name of the image */
} steps[] = {
	{10, BASE, true, "//anon"},
	{60, BASE, false, "named"},
	/* the image recorded at 80 applies from the next PSB */
	{75, HOLE, false, "late"},
	{95, BASE, false, "named"},
	{100, BASE, true, "recorded"},
	{120, BASE, false, "last"},
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))
#define JUMPS 3

static size_t put_steps(uint8_t *pt, struct dump_trace *made, uint32_t stream)
{
	uint64_t last_ip = 0;
	size_t size = 0;

	for (size_t i = 0; i < STEPS; i++) {
		if (steps[i].psb) {
			assert_int_equal(ptl_writer_psb(made->writer, stream, size, steps[i].time), 0);
			size += format_pt_put_psb(pt + size);
			last_ip = 0;
		}
		size += format_pt_put_tsc(pt + size, steps[i].time);
		if (steps[i].psb) {
			size += format_pt_put_mode_exec(pt + size, true, false, true);
			size += format_pt_put_fup(pt + size, &last_ip, BASE);
			size += format_pt_put_psbend(pt + size);
		}
		for (unsigned k = 0; k < JUMPS; k++)
			size += format_pt_put_tip(pt + size, &last_ip, steps[i].at + 2 * (k & 1));
		/* All flows continue from the same address. */
		size += format_pt_put_tip(pt + size, &last_ip, BASE);
	}
	size += format_pt_put_tip_pgd_no_ip(pt + size);
	return size;
}

static struct ptl_trace *make_trace(void)
{
	const struct ptl_machine machine = {
		.source = "test", .software = true, .mode = 64, .clock = PTL_CLOCK_MONOTONIC, .tsc_multiplier = 1};
	struct dump_trace made;
	uint8_t pt[1024];
	uint32_t stream;
	size_t size;

	dump_trace_start(&made, &machine);
	load(&made, 1, "//anon", BASE, jumps, false);
	load(&made, 50, "named", BASE, jumps, true);
	load(&made, 70, "late", HOLE, jumps, true);
	load(&made, 80, "recorded", BASE, others, false);
	load(&made, 90, "elsewhere", HOLE + 0x1000, jumps, true);
	load(&made, 110, "last", BASE, others, true);
	stream = dump_trace_stream(&made, PID, PID);
	size = put_steps(pt, &made, stream);
	assert_int_equal(ptl_writer_bytes(made.writer, stream, pt, size, steps[0].time), 0);
	return dump_trace_finish(&made);
}

/*
 * The first block at each time began before the packet with the time, and libipt reads packets ahead: that block or the
 * last block may count for either side. The blocks between are certain.
 */
static void check(struct ptl_trace *trace, const struct flow_engine_class *engine)
{
	const struct flow_view_options options = {.engine = engine, .threads = 1};
	struct images images = {.count = 0};
	const struct flow_view view = {
		.context = &images, .begin = begin, .consume = consume, .merge = merge, .finish = finish, .drop = drop};
	struct flow_timeline *timeline;

	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	images.timeline = timeline;
	assert_int_equal(flow_view_run(trace, timeline, &options, &view), 0);
	assert_int_equal(images.gaps, 0);
	assert_int_equal(images.count, STEPS * (JUMPS + 1) + 1);
	for (size_t i = 0; i < STEPS; i++) {
		const size_t second = i * (JUMPS + 1) + 2;

		assert_int_equal(images.ips[second], steps[i].at + 2);
		assert_string_equal(images.names[second], steps[i].name);
	}
	flow_timeline_free(timeline);
}

static void images_apply_from_their_time(void **state)
{
	struct ptl_trace *trace = make_trace();

	(void)state;
	for (size_t i = 0; flow_engines[i]; i++)
		check(trace, flow_engines[i]);
	ptl_close(trace);
}

/* Counting takes another code path, and must know the added code, too. */
static void counting_knows_them(void **state)
{
	const struct flow_view_options options = {.engine = &flow_engine_native, .threads = 1};
	struct ptl_trace *trace = make_trace();
	struct flow_timeline *timeline;
	struct analysis_stats stats;

	(void)state;
	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	assert_int_equal(
		analysis_stats_run(trace, timeline, &options, &(struct analysis_stats_wanted){.hash = false}, &stats),
		0);
	assert_int_equal(stats.total.gaps, 0);
	assert_int_equal(stats.total.instructions, STEPS * (JUMPS + 1) + 1);
	analysis_stats_free(&stats);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_apply_from_their_time),
		cmocka_unit_test(counting_knows_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
