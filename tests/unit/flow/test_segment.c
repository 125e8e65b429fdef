/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests how segments are found: PSB+, ends of packets, owners of streams, order and windows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "flow/segment/segment.h"
#include "flow/segment/packets.h"
#include "tests/unit/dump_trace.h"

#define PSB "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82"
#define MODE_64 "\x99\x01"
#define FUP "\x7d\x00\x00\x40\x00\x00\x00" /* 0x400000 */
#define PSBEND "\x02\x23"
#define PSB_PLUS PSB MODE_64 FUP PSBEND
#define PSB_PLUS_SIZE 27

static const struct flow_errata none;

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

static void psb_plus(void **state)
{
	struct flow_psb_plus found;

	(void)state;
	flow_psb_plus_read(BYTES(PSB_PLUS "\x06\x06"), &none, &found);
	assert_true(found.complete && found.has_ip && found.has_mode);
	assert_int_equal(found.ip, 0x400000);
	assert_int_equal(found.size, PSB_PLUS_SIZE);

	/* Packets disabled: no FUP. Padding between. */
	flow_psb_plus_read(BYTES(PSB "\0\0\0" MODE_64 "\0" PSBEND), &none, &found);
	assert_true(found.complete && !found.has_ip && found.has_mode);

	/* Truncated; ended by an overflow; not a PSB. */
	flow_psb_plus_read(BYTES(PSB MODE_64 "\x7d\x00\x00"), &none, &found);
	assert_false(found.complete);
	assert_int_equal(found.size, 18);
	flow_psb_plus_read(BYTES(PSB MODE_64 "\x02\xf3" FUP PSBEND), &none, &found);
	assert_false(found.complete);
	flow_psb_plus_read(BYTES("\x06\x06" PSB_PLUS), &none, &found);
	assert_false(found.complete);
	assert_int_equal(found.size, 0);
	flow_psb_plus_read((const uint8_t *)"", 0, &none, &found);
	assert_false(found.complete);
}

static void check_end(const char *packets, size_t size, size_t flow, bool fup, size_t whole)
{
	uint8_t bytes[256];
	struct flow_segment_end end;

	memcpy(bytes, PSB_PLUS, PSB_PLUS_SIZE);
	memcpy(bytes + PSB_PLUS_SIZE, packets, size);
	flow_segment_end_read(bytes, PSB_PLUS_SIZE + size, &none, &end);
	assert_int_equal(end.flow, PSB_PLUS_SIZE + flow);
	assert_int_equal(end.fup, fup);
	assert_int_equal(end.whole, PSB_PLUS_SIZE + whole);
}

static void segment_ends(void **state)
{
	(void)state;
	check_end("", 0, 0, false, 0);
	check_end("\x06\x06", 2, 2, false, 2);
	/* MTC, PAD and CYC behind the last TNT. */
	check_end("\x06\x59\x11\0\0\x0b", 6, 1, false, 6);
	/* truncated TIP */
	check_end("\x06\x2d\x01", 3, 1, false, 1);
	/* A FUP alone; with a TIP; a FUP of a transaction's state. */
	check_end("\x3d\x01\x00", 3, 3, true, 3);
	check_end("\x3d\x01\x00\x2d\x02\x00", 6, 6, false, 6);
	check_end("\x99\x21\x3d\x01\x00", 5, 5, false, 5);
	/* TIP without an address in the flow, and while packets are disabled. */
	check_end("\x06\x0d\x06\x06", 4, 1, false, 1);
	check_end("\x06\x01\x0d\x06", 4, 4, false, 4);
	/* Invalid bytes are left to the decoder. */
	check_end("\x06\x02\xff\x06\0\0", 6, 6, false, 6);
}

static void check_enabled(const char *packets, size_t size, bool enabled, bool overflowed, size_t resume)
{
	struct flow_segment_end end;

	flow_segment_end_read((const uint8_t *)packets, size, &none, &end);
	assert_int_equal(end.enabled, enabled);
	assert_int_equal(end.overflowed, overflowed);
	assert_int_equal(end.resume, resume);
	assert_int_equal(end.resume_end, resume ? resume + 7 : 0);
}

#define PGE "\x71\x00\x00\x40\x00\x00\x00"
#define PGD "\x01"
#define OVF "\x02\xf3"
#define ENDS(packets, enabled, overflowed, resume)                                                                     \
	check_enabled(packets, sizeof(packets) - 1, enabled, overflowed, resume)

static void enabled_at_the_end(void **state)
{
	(void)state;
	ENDS(PSB MODE_64 PSBEND, false, false, 0);
	ENDS(PSB_PLUS, true, false, 0);
	ENDS(PSB_PLUS PGE PGD, false, false, 0);
	ENDS(PSB_PLUS PGE, true, false, 0);
	ENDS(PSB_PLUS "\x06" PGD PGE, true, false, 0);
	ENDS(PSB_PLUS FUP PGD, false, false, 0);
	/* After an overflow, the next packets decide. */
	ENDS(PSB_PLUS OVF, false, true, 0);
	ENDS(PSB_PLUS OVF "\x59\x11", false, true, 0);
	ENDS(PSB_PLUS OVF FUP, true, false, PSB_PLUS_SIZE + 2);
	ENDS(PSB_PLUS OVF FUP "\x59\x11", true, false, PSB_PLUS_SIZE + 2);
	ENDS(PSB_PLUS OVF FUP "\x06", true, false, 0);
	ENDS(PSB_PLUS OVF FUP PGD, false, false, 0);
	ENDS(PSB_PLUS OVF PGE, true, false, 0);
	ENDS(PSB_PLUS OVF PGD, false, false, 0);
}

/* BDM70, on any CPU. */
static void psb_plus_before_enabled(void **state)
{
	struct flow_psb_plus found;

	(void)state;
	flow_psb_plus_read(BYTES(PSB_PLUS PGE), &none, &found);
	assert_true(found.complete && !found.has_ip && found.has_mode);
	flow_psb_plus_read(BYTES(PSB_PLUS "\x59\x11\0\0" MODE_64 PGE), &none, &found);
	assert_false(found.has_ip);
	flow_psb_plus_read(BYTES(PSB_PLUS "\x06" PGE), &none, &found);
	assert_true(found.has_ip);
	flow_psb_plus_read(BYTES(PSB_PLUS OVF PGE), &none, &found);
	assert_true(found.has_ip);
}

/* ---- lists ------------------------------------------------------------------------------- */

static const struct ptl_machine machine = {
	.source = "test", .software = true, .mode = 64, .clock = PTL_CLOCK_MONOTONIC};

/* A stream of n segments, 100 apart in time. */
static void add_stream(struct dump_trace *made, uint32_t pid, uint32_t tid, uint64_t time, unsigned n)
{
	uint32_t stream = dump_trace_stream(made, pid, tid);

	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(ptl_writer_psb(made->writer, stream, (uint64_t)i * PSB_PLUS_SIZE, time + 100 * i), 0);
		assert_int_equal(ptl_writer_bytes(made->writer, stream, PSB_PLUS, PSB_PLUS_SIZE, time + 100 * i), 0);
	}
}

static void list(struct ptl_trace *trace, const struct flow_selection *selection, struct flow_segment_list *segments)
{
	struct flow_timeline *timeline;

	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	assert_int_equal(flow_segments_list(trace, timeline, selection, segments), 0);
	flow_timeline_free(timeline);
	for (size_t i = 0; i < segments->count; i++) {
		const struct flow_segment *segment = &segments->segments[i];
		bool first = !i || segment[-1].group != segment->group;
		bool last = i + 1 == segments->count || segment[1].group != segment->group;

		assert_int_equal(segment->index, i);
		assert_int_equal(segment->first, first);
		assert_int_equal(segment->last, last);
	}
}

static void order_and_windows(void **state)
{
	const uint32_t pid = 8, tid = 81;
	struct flow_selection selection = {0};
	struct flow_segment_list segments;
	struct dump_trace made;
	struct ptl_trace *trace;

	(void)state;
	dump_trace_start(&made, &machine);
	dump_trace_thread(&made, 1, PTL_OPCODE_START, 7, 7);
	dump_trace_thread(&made, 2, PTL_OPCODE_START, 8, 8);
	dump_trace_thread(&made, 3, PTL_OPCODE_START, 8, 81);
	add_stream(&made, 8, 81, 1000, 3);
	add_stream(&made, 8, 8, 1050, 3);
	add_stream(&made, 7, 7, 2000, 2);
	/* the same thread again, as after an exec */
	add_stream(&made, 8, 81, 3000, 1);
	trace = dump_trace_finish(&made);

	list(trace, &selection, &segments);
	assert_int_equal(segments.count, 9);
	assert_int_equal(segments.groups, 4);
	assert_int_equal(segments.bytes, 9 * PSB_PLUS_SIZE);
	assert_int_equal(segments.segments[0].pid, 7);
	assert_int_equal(segments.segments[2].tid, 8);
	assert_int_equal(segments.segments[5].tid, 81);
	assert_int_equal(segments.segments[5].time, 1000);
	assert_int_equal(segments.segments[5].end_time, 1100);
	assert_int_equal(segments.segments[8].time, 3000);
	assert_int_equal(segments.segments[8].thread, segments.segments[5].thread);
	assert_true(segments.segments[5].has_next && !segments.segments[7].has_next);
	flow_segments_free(&segments);

	selection.pids = &pid;
	selection.pid_count = 1;
	selection.tids = &tid;
	selection.tid_count = 1;
	list(trace, &selection, &segments);
	assert_int_equal(segments.count, 4);
	flow_segments_free(&segments);

	/* Segments that overlap 1120 to 1160; the last segment of a stream has no end. */
	selection = (struct flow_selection){.first_time = 1120, .last_time = 1160};
	list(trace, &selection, &segments);
	assert_int_equal(segments.count, 3);
	assert_int_equal(segments.segments[0].time, 1050);
	assert_int_equal(segments.segments[1].time, 1150);
	assert_int_equal(segments.segments[2].time, 1100);
	flow_segments_free(&segments);

	selection = (struct flow_selection){.cpus = &pid, .cpu_count = 1};
	list(trace, &selection, &segments);
	assert_int_equal(segments.count, 0);
	flow_segments_free(&segments);
	ptl_close(trace);
}

/* A PT stream without a thread belongs to the only process. */
static void stream_without_owner(void **state)
{
	const struct flow_selection everything = {0};
	struct flow_segment_list segments;
	struct dump_trace made;
	struct ptl_trace *trace;

	(void)state;
	dump_trace_start(&made, &machine);
	dump_trace_thread(&made, 1, PTL_OPCODE_START_RUNDOWN, 5, 6);
	add_stream(&made, PTL_NO_ID, PTL_NO_ID, 0, 2);
	trace = dump_trace_finish(&made);
	list(trace, &everything, &segments);
	assert_int_equal(segments.count, 2);
	assert_int_equal(segments.segments[0].pid, 5);
	assert_int_equal(segments.segments[0].tid, 6);
	flow_segments_free(&segments);
	ptl_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(psb_plus),           cmocka_unit_test(segment_ends),
		cmocka_unit_test(enabled_at_the_end), cmocka_unit_test(psb_plus_before_enabled),
		cmocka_unit_test(order_and_windows),  cmocka_unit_test(stream_without_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
