/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the way from trace to flow, with every engine: whole, cut and damaged traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/profile/stats.h"
#include "analysis/profile/unmapped.h"
#include "common/sha256.h"
#include "flow/view/view.h"
#include "tests/unit/dump_seen.h"
#include "tests/unit/random_fixture.h"
#include "tests/unit/random_truth.h"

#define PID 7
#define STEPS 20000

/* ---- traces of random programs ----------------------------------------------------------- */

/* Loads the code as one image. */
static void whole_image(struct dump_trace *made)
{
	dump_trace_load(made, 1, PID, "program", flow->base, flow->code_size, flow->code, flow->code_size);
}

/* Loads the code in pieces: images of odd sizes, and code events over every second image. */
static void patchwork(struct dump_trace *made)
{
	static const uint8_t wrong[4096];
	size_t at = 0, number = 0;

	while (at < flow->code_size) {
		size_t size = 1 + number * 131 % 1000;

		if (size > flow->code_size - at)
			size = flow->code_size - at;
		if (number % 2) {
			dump_trace_load(made, 1, PID, "part", flow->base + at, size, wrong, size);
			dump_trace_code(made, 2, PID, flow->base + at, size, flow->code + at, size);
		} else {
			dump_trace_load(made, 1, PID, "part", flow->base + at, size, flow->code + at, size);
		}
		at += size;
		number++;
	}
}

static struct ptl_trace *make_trace(void (*code)(struct dump_trace *), size_t pt_size)
{
	struct dump_trace made;
	uint32_t stream;

	dump_trace_start(&made, &machine);
	code(&made);
	stream = dump_trace_stream(&made, PID, PID);
	for (size_t at = 0; (at = ptl_pt_find_psb(flow->pt, pt_size, at)) < pt_size; at += PTL_PT_PSB_SIZE)
		assert_int_equal(ptl_writer_psb(made.writer, stream, at, 100 + at), 0);
	assert_int_equal(ptl_writer_bytes(made.writer, stream, flow->pt, pt_size, 100), 0);
	return dump_trace_finish(&made);
}

static struct random_seeds seeds;

/* Every engine sees the executed instructions for any division of the code, and all engines agree about blocks. */
static void random_programs(void **state)
{
	(void)state;
	seeds = random_flow_seeds(100);
	while (random_flow_next(&seeds)) {
		struct ptl_trace *traces[2];
		size_t blocks = 0, branches = 0;

		random_flow_make(flow, seeds.seed, STEPS);
		traces[0] = make_trace(whole_image, flow->pt_size);
		traces[1] = make_trace(patchwork, flow->pt_size);
		for (size_t i = 0; flow_engines[i]; i++) {
			for (unsigned k = 0; k < 2; k++) {
				struct seen seen;

				decode(traces[k], flow_engines[i], 1 + seeds.seed % 3, &seen);
				check_truth(flow, &seen);
				if (!blocks) {
					blocks = seen.blocks;
					branches = seen.branches;
				}
				assert_int_equal(seen.blocks, blocks);
				assert_int_equal(seen.branches, branches);
				free_seen(&seen);
			}
		}
		ptl_close(traces[0]);
		ptl_close(traces[1]);
	}
}

/* A stream truncated anywhere gives a beginning of the flow, without extra instructions. */
static void cut_streams(void **state)
{
	(void)state;
	random_flow_make(flow, 77, STEPS);
	for (size_t i = 0; flow_engines[i]; i++) {
		size_t before = 0, step = 1;

		for (size_t size = 0; size < flow->pt_size; size += step) {
			struct ptl_trace *trace = make_trace(whole_image, size);
			struct seen seen;

			/* all lengths up to 200, then fewer */
			if (size > 200)
				step = 1 + size % 97;
			decode(trace, flow_engines[i], 1, &seen);
			assert_true(seen.ip_count <= flow->truth_count || flow->overflows);
			if (!flow->overflows) {
				assert_memory_equal(seen.ips, flow->truth, seen.ip_count * sizeof(*flow->truth));
				assert_true(seen.ip_count >= before);
			}
			/* A truncated packet is reported, and so are bytes without a PSB. */
			if (first_gap(&seen)) {
				assert_int_equal(first_gap(&seen)->cause,
						 size < PTL_PT_PSB_SIZE ? FLOW_GAP_SYNC : FLOW_GAP_PACKET);
				assert_true(first_gap(&seen)->size < PTL_PT_PACKET_MAX);
				assert_int_equal(first_gap(&seen)->offset + first_gap(&seen)->size, size);
			}
			before = seen.ip_count;
			free_seen(&seen);
			ptl_close(trace);
		}
	}
}

/* ---- what is missing --------------------------------------------------------------------- */

/* Bytes from `at` on are lost: the flow before and behind is decoded, and the hole is reported. */
static void holes(void **state)
{
	(void)state;
	random_flow_make(flow, 3, STEPS);
	for (size_t i = 0; flow_engines[i]; i++) {
		size_t at = flow->pt_size / 2, lost = 100, next;
		const struct flow_event *gap;
		struct dump_trace made;
		struct ptl_trace *trace;
		struct seen seen;
		uint32_t stream;

		next = ptl_pt_find_psb(flow->pt, flow->pt_size, at + lost);
		dump_trace_start(&made, &machine);
		whole_image(&made);
		stream = dump_trace_stream(&made, PID, PID);
		assert_int_equal(ptl_writer_bytes(made.writer, stream, flow->pt, at, 100), 0);
		assert_int_equal(ptl_writer_hole(made.writer, stream, lost, 100), 0);
		assert_int_equal(
			ptl_writer_bytes(made.writer, stream, flow->pt + at + lost, flow->pt_size - at - lost, 100), 0);
		trace = dump_trace_finish(&made);
		decode(trace, flow_engines[i], 2, &seen);
		assert_int_equal(count_events(&seen, FLOW_GAP, FLOW_GAP_LOST), 1);
		gap = find_gap(&seen, FLOW_GAP_LOST);
		assert_int_equal(gap->offset, at);
		assert_int_equal(gap->size, lost);
		assert_int_equal(count_events(&seen, FLOW_GAP, FLOW_GAP_SYNC), next > at + lost);
		/* The beginning and the end are unchanged. */
		assert_true(seen.ip_count > flow->truth_count / 4 && seen.ip_count < flow->truth_count);
		assert_memory_equal(seen.ips, flow->truth, gap->before * sizeof(uint64_t));
		for (size_t k = 1; k < 1000; k++)
			assert_int_equal(seen.ips[seen.ip_count - k], flow->truth[flow->truth_count - k]);
		free_seen(&seen);
		ptl_close(trace);
	}
}

static void bytes_before_the_first_psb(void **state)
{
	static const uint8_t start[5] = {0x06, 0x06, 0x06, 0x06, 0x06};

	(void)state;
	random_flow_make(flow, 4, 1000);
	for (size_t i = 0; flow_engines[i]; i++) {
		struct dump_trace made;
		struct ptl_trace *trace;
		struct seen seen;
		uint32_t stream;

		dump_trace_start(&made, &machine);
		whole_image(&made);
		stream = dump_trace_stream(&made, PID, PID);
		assert_int_equal(ptl_writer_bytes(made.writer, stream, start, sizeof(start), 100), 0);
		assert_int_equal(ptl_writer_bytes(made.writer, stream, flow->pt, flow->pt_size, 100), 0);
		trace = dump_trace_finish(&made);
		decode(trace, flow_engines[i], 1, &seen);
		assert_int_equal(seen.events[0].kind, FLOW_GAP);
		assert_int_equal(seen.events[0].cause, FLOW_GAP_SYNC);
		assert_int_equal(seen.events[0].size, sizeof(start));
		assert_int_equal(seen.ip_count, flow->truth_count);
		free_seen(&seen);
		ptl_close(trace);
	}
}

/* Loads only half of the code. */
static void half_image(struct dump_trace *made)
{
	dump_trace_load(made, 1, PID, "program", flow->base, flow->code_size / 2, flow->code, flow->code_size / 2);
}

static void missing_code(void **state)
{
	(void)state;
	random_flow_make(flow, 5, STEPS);
	for (size_t i = 0; flow_engines[i]; i++) {
		struct ptl_trace *trace = make_trace(half_image, flow->pt_size);
		const struct flow_view_options options = {.engine = flow_engines[i], .threads = 2};
		struct analysis_unmapped_list list;
		struct flow_timeline *timeline;
		struct seen seen;
		size_t gaps, across = 0;

		decode(trace, flow_engines[i], 1, &seen);
		gaps = count_events(&seen, FLOW_GAP, FLOW_GAP_CODE);
		assert_true(gaps > 0);
		assert_int_equal(count_events(&seen, FLOW_GAP, 0) - count_events(&seen, FLOW_GAP, FLOW_GAP_OVERFLOW),
				 gaps);
		for (size_t k = 0; k < seen.event_count; k++) {
			if (seen.events[k].cause != FLOW_GAP_CODE)
				continue;
			assert_true(seen.events[k].flags & FLOW_EVENT_HAS_FROM);
			assert_true(seen.events[k].from >= flow->base + flow->code_size / 2 - 15);
			assert_true(seen.events[k].from < flow->base + flow->code_size);
			across += seen.events[k].from < flow->base + flow->code_size / 2;
		}
		/* The ranking contains all missing code. */
		assert_int_equal(flow_timeline_build(trace, &timeline), 0);
		assert_int_equal(analysis_unmapped_run(trace, timeline, &options, false, &list), 0);
		for (size_t k = 0; k < list.count; k++) {
			assert_false(list.ranges[k].has_code);
			gaps -= list.ranges[k].gaps;
			assert_true(!k || list.ranges[k].gap_bytes <= list.ranges[k - 1].gap_bytes);
		}
		/* An instruction that crosses the image's end does not count as outside. */
		assert_int_equal(gaps, across);
		analysis_unmapped_free(&list);
		flow_timeline_free(timeline);
		free_seen(&seen);
		ptl_close(trace);
	}
}

/* Code given by code events only. */
static void no_image(struct dump_trace *made)
{
	dump_trace_code(made, 1, PID, flow->base, flow->code_size, flow->code, flow->code_size);
}

static void code_outside_of_images(void **state)
{
	(void)state;
	random_flow_make(flow, 14, STEPS);
	for (size_t i = 0; flow_engines[i]; i++) {
		struct ptl_trace *trace = make_trace(no_image, flow->pt_size);
		const struct flow_view_options options = {.engine = flow_engines[i], .threads = 2};
		struct analysis_unmapped_list list;
		struct flow_timeline *timeline;
		struct seen seen;

		decode(trace, flow_engines[i], 2, &seen);
		check_truth(flow, &seen);
		free_seen(&seen);
		assert_int_equal(flow_timeline_build(trace, &timeline), 0);
		assert_int_equal(analysis_unmapped_run(trace, timeline, &options, false, &list), 0);
		assert_int_equal(list.count, 1);
		assert_int_equal(list.ranges[0].pid, PID);
		assert_true(list.ranges[0].has_code);
		assert_int_equal(list.ranges[0].instructions, flow->truth_count);
		assert_int_equal(list.ranges[0].gaps, 0);
		assert_in_range(list.ranges[0].first, flow->base, flow->base + flow->code_size);
		assert_in_range(list.ranges[0].last, list.ranges[0].first, flow->base + flow->code_size);
		analysis_unmapped_free(&list);
		flow_timeline_free(timeline);
		ptl_close(trace);
	}
}

/* Where a TNT packet begins, behind the first half. */
static size_t find_tnt(void)
{
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet = {0};
	size_t at = 0;

	for (;;) {
		int size = ptl_pt_decode(flow->pt + at, flow->pt_size - at, &context, &packet);

		assert_true(size > 0);
		if (at > flow->pt_size / 2 && packet.kind == PTL_PT_TNT_8)
			return at;
		at += (size_t)size;
	}
}

/* Bytes that are not a packet lose only the rest of their segment. */
static void damaged_packets(void **state)
{
	size_t at, next;

	(void)state;
	random_flow_make(flow, 6, STEPS);
	at = find_tnt();
	next = ptl_pt_find_psb(flow->pt, flow->pt_size, at);
	flow->pt[at] = 0x02; /* an undefined extended opcode */
	flow->pt[at + 1] = 0xff;
	for (size_t i = 0; flow_engines[i]; i++) {
		struct ptl_trace *trace = make_trace(whole_image, flow->pt_size);
		const struct flow_event *gap;
		struct seen seen;

		decode(trace, flow_engines[i], 1, &seen);
		gap = first_gap(&seen);
		assert_non_null(gap);
		assert_int_equal(gap->cause, FLOW_GAP_PACKET);
		assert_int_equal(gap->offset, at);
		assert_int_equal(gap->size, next - at);
		assert_memory_equal(seen.ips, flow->truth, gap->before * sizeof(uint64_t));
		for (size_t k = 1; k < 1000; k++)
			assert_int_equal(seen.ips[seen.ip_count - k], flow->truth[flow->truth_count - k]);
		free_seen(&seen);
		ptl_close(trace);
	}
}

/* ---- code that changes under way --------------------------------------------------------- */

#define PLACE 0x400000ull

static size_t put_tsc(uint8_t *at, uint64_t tsc)
{
	const struct ptl_pt_packet packet = {.kind = PTL_PT_TSC, .tsc = {tsc}};
	int size = ptl_pt_encode(&packet, at, PTL_PT_PACKET_MAX);

	assert_true(size > 0);
	return (size_t)size;
}

/* A CPU makes no PSB when code changes: the code version follows the packets' time. */
static void code_follows_time(void **state)
{
	static const uint8_t before[] = {0x90, 0xff, 0xe0};                   /* nop; jmp rax */
	static const uint8_t behind[] = {0x48, 0xff, 0xc0, 0x90, 0xff, 0xe0}; /* inc rax; nop; jmp rax */
	static const uint64_t first[] = {PLACE, PLACE + 1}, other[] = {PLACE, PLACE + 3, PLACE + 4};
	static const uint8_t exec_64[] = {0x99, 0x01}, psb_end[] = {0x02, 0x23};
	struct ptl_machine cpu = machine;

	(void)state;
	cpu.software = false;
	for (size_t i = 0; flow_engines[i]; i++) {
		uint8_t pt[256];
		uint64_t last_ip = 0;
		struct dump_trace made;
		struct ptl_trace *trace;
		struct seen seen;
		size_t size = 0;
		uint32_t stream;

		for (unsigned k = 0; k < 8; k++) {
			pt[size++] = 0x02;
			pt[size++] = 0x82;
		}
		size += put_tsc(pt + size, 100);
		memcpy(pt + size, exec_64, 2);
		size += 2;
		size += format_pt_put_fup(pt + size, &last_ip, PLACE);
		memcpy(pt + size, psb_end, 2);
		size += 2;
		size += format_pt_put_tip(pt + size, &last_ip, PLACE);
		size += put_tsc(pt + size, 900);
		size += format_pt_put_tip(pt + size, &last_ip, PLACE);
		size += format_pt_put_tip(pt + size, &last_ip, PLACE);
		size += format_pt_put_tip_pgd(pt + size, &last_ip, 0x7000);

		dump_trace_start(&made, &cpu);
		dump_trace_load(&made, 1, PID, "code", PLACE, 0x1000, before, sizeof(before));
		dump_trace_code(&made, 500, PID, PLACE, sizeof(behind), behind, sizeof(behind));
		stream = dump_trace_stream(&made, PID, PID);
		assert_int_equal(ptl_writer_psb(made.writer, stream, 0, 100), 0);
		assert_int_equal(ptl_writer_bytes(made.writer, stream, pt, size, 100), 0);
		trace = dump_trace_finish(&made);
		decode(trace, flow_engines[i], 1, &seen);
		assert_null(first_gap(&seen));
		/* Instructions between time 100 and 900 may have either version. */
		assert_in_range(seen.ip_count, 10, 11);
		assert_memory_equal(seen.ips, first, sizeof(first));
		for (size_t k = 1; k < 3; k++)
			assert_memory_equal(seen.ips + seen.ip_count - 3 * k, other, sizeof(other));
		free_seen(&seen);
		ptl_close(trace);
	}
}

/* ---- figures ----------------------------------------------------------------------------- */

static void figures(void **state)
{
	uint8_t expected[COMMON_SHA256_SIZE];

	(void)state;
	random_flow_make(flow, 8, STEPS);
	common_sha256_of(flow->truth, flow->truth_count * sizeof(*flow->truth), expected);
	for (size_t i = 0; flow_engines[i]; i++) {
		struct ptl_trace *trace = make_trace(whole_image, flow->pt_size);
		struct flow_timeline *timeline;
		struct analysis_stats stats;

		assert_int_equal(flow_timeline_build(trace, &timeline), 0);
		for (unsigned threads = 1; threads < 4; threads++) {
			const struct flow_view_options options = {.engine = flow_engines[i], .threads = threads};

			assert_int_equal(
				analysis_stats_run(trace, timeline, &options,
						   &(struct analysis_stats_wanted){.hash = true, .gap_limit = 10},
						   &stats),
				0);
			assert_int_equal(stats.process_count, 1);
			assert_int_equal(stats.thread_count, 1);
			assert_int_equal(stats.processes[0].pid, PID);
			assert_int_equal(stats.total.instructions, flow->truth_count);
			assert_int_equal(stats.threads[0].counts.instructions, flow->truth_count);
			assert_int_equal(stats.total.pt_bytes, flow->pt_size);
			assert_int_equal(stats.total.overflows, flow->overflows);
			assert_int_equal(stats.total.gaps, flow->overflows);
			assert_int_equal(stats.total.enabled, flow->enables);
			assert_true(stats.threads[0].has_hash);
			assert_memory_equal(stats.threads[0].ip_sha256, expected, sizeof(expected));
			analysis_stats_free(&stats);
		}
		flow_timeline_free(timeline);
		ptl_close(trace);
	}
}

/* A thread with two streams has one hash, although another thread's flow is between them in time. */
static void threads_with_several_streams(void **state)
{
	uint8_t expected[COMMON_SHA256_SIZE];
	size_t middle;

	(void)state;
	random_flow_make(flow, 11, STEPS);
	common_sha256_of(flow->truth, flow->truth_count * sizeof(*flow->truth), expected);
	middle = ptl_pt_find_psb(flow->pt, flow->pt_size, flow->pt_size / 2);
	for (size_t i = 0; flow_engines[i]; i++) {
		const struct flow_view_options options = {.engine = flow_engines[i], .threads = 3};
		struct dump_trace made;
		struct ptl_trace *trace;
		struct flow_timeline *timeline;
		struct analysis_stats stats;
		uint32_t streams[3];

		dump_trace_start(&made, &machine);
		whole_image(&made);
		streams[0] = dump_trace_stream(&made, PID, PID);
		streams[1] = dump_trace_stream(&made, PID, PID + 1);
		streams[2] = dump_trace_stream(&made, PID, PID);
		assert_int_equal(ptl_writer_bytes(made.writer, streams[0], flow->pt, middle, 100), 0);
		assert_int_equal(ptl_writer_bytes(made.writer, streams[1], flow->pt, middle, 150), 0);
		assert_int_equal(
			ptl_writer_bytes(made.writer, streams[2], flow->pt + middle, flow->pt_size - middle, 200), 0);
		trace = dump_trace_finish(&made);
		assert_int_equal(flow_timeline_build(trace, &timeline), 0);
		assert_int_equal(analysis_stats_run(trace, timeline, &options,
						    &(struct analysis_stats_wanted){.hash = true, .gap_limit = 0},
						    &stats),
				 0);
		assert_int_equal(stats.process_count, 1);
		assert_int_equal(stats.thread_count, 2);
		assert_int_equal(stats.processes[0].thread_count, 2);
		assert_int_equal(stats.processes[0].counts.instructions, stats.total.instructions);
		assert_int_equal(stats.threads[0].tid, PID);
		/*
		 * No flow is known to follow the first stream: instructions proven only by the next PSB's address are
		 * missing.
		 */
		assert_true(stats.threads[0].counts.instructions <= flow->truth_count);
		assert_true(stats.threads[0].counts.instructions + 100 > flow->truth_count);
		if (stats.threads[0].counts.instructions == flow->truth_count)
			assert_memory_equal(stats.threads[0].ip_sha256, expected, sizeof(expected));
		analysis_stats_free(&stats);

		/* Counts without hashes take another path through the view, and must be equal. */
		assert_int_equal(analysis_stats_run(trace, timeline, &options,
						    &(struct analysis_stats_wanted){.hash = false, .gap_limit = 0},
						    &stats),
				 0);
		assert_int_equal(stats.thread_count, 2);
		assert_true(stats.threads[0].counts.instructions + 100 > flow->truth_count);
		assert_false(stats.threads[0].has_hash);
		analysis_stats_free(&stats);
		flow_timeline_free(timeline);
		ptl_close(trace);
	}
}

static int refuse(void *context, void *partial, const struct flow_segment *segment, const struct flow_batch *batch)
{
	unsigned *left = context;

	(void)partial;
	(void)segment;
	(void)batch;
	return __atomic_fetch_sub(left, 1, __ATOMIC_RELAXED) ? 0 : PTL_CANCELLED;
}

static int never(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon)
{
	(void)segment;
	(void)horizon;
	seen_drop(context, partial);
	return 0;
}

/* A failing view ends the run with its status, and every partial result is freed. */
static void views_that_fail(void **state)
{
	(void)state;
	random_flow_make(flow, 12, STEPS);
	for (unsigned threads = 1; threads < 4; threads++) {
		struct ptl_trace *trace = make_trace(whole_image, flow->pt_size);
		unsigned left = 7;
		const struct flow_view view = {
			.context = &left,
			.begin = seen_begin,
			.consume = refuse,
			.emit = never,
			.drop = seen_drop,
		};
		const struct flow_view_options options = {.threads = threads};
		struct flow_timeline *timeline;

		assert_int_equal(flow_timeline_build(trace, &timeline), 0);
		assert_int_equal(flow_view_run(trace, timeline, &options, &view), PTL_CANCELLED);
		flow_timeline_free(timeline);
		ptl_close(trace);
	}
}

/* ---- order of time ----------------------------------------------------------------------- */

struct order {
	uint64_t last;    /* time of the previous segment */
	uint64_t horizon; /* time promised with the previous segment */
	size_t count;
};

static int check_order(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon)
{
	struct order *order = context;

	assert_true(segment->order_time >= order->last);
	assert_true(segment->order_time >= order->horizon);
	assert_true(horizon >= segment->order_time);
	order->last = segment->order_time;
	order->horizon = horizon;
	order->count++;
	seen_drop(NULL, partial);
	return 0;
}

static void segments_by_time(void **state)
{
	struct order order = {0};
	const struct flow_view view = {
		.context = &order,
		.begin = seen_begin,
		.consume = seen_consume,
		.emit = check_order,
		.drop = seen_drop,
	};
	const struct flow_view_options options = {.threads = 3, .by_time = true};
	struct flow_timeline *timeline;
	struct dump_trace made;
	struct ptl_trace *trace;
	size_t psbs = 0;

	(void)state;
	random_flow_make(flow, 13, STEPS);
	dump_trace_start(&made, &machine);
	whole_image(&made);
	for (uint32_t thread = 0; thread < 3; thread++) {
		uint32_t stream = dump_trace_stream(&made, PID, PID + thread);

		for (size_t at = 0; (at = ptl_pt_find_psb(flow->pt, flow->pt_size, at)) < flow->pt_size;
		     at += PTL_PT_PSB_SIZE, psbs++)
			assert_int_equal(ptl_writer_psb(made.writer, stream, at, 100 + at * (thread + 1)), 0);
		assert_int_equal(ptl_writer_bytes(made.writer, stream, flow->pt, flow->pt_size, 100), 0);
	}
	trace = dump_trace_finish(&made);
	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	assert_int_equal(flow_view_run(trace, timeline, &options, &view), 0);
	assert_int_equal(order.count, psbs);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

/* ---- selections -------------------------------------------------------------------------- */

/* A window gives a part of the flow; adjacent windows give the whole flow. */
static void windows(void **state)
{
	size_t middle = 0;

	(void)state;
	random_flow_make_apart(flow, 9, STEPS, 1);
	for (size_t at = 0, n = 0; (at = ptl_pt_find_psb(flow->pt, flow->pt_size, at)) < flow->pt_size;
	     at += PTL_PT_PSB_SIZE, n++) {
		if (n == 5)
			middle = at;
	}
	assert_true(middle > 0);
	for (size_t i = 0; flow_engines[i]; i++) {
		struct flow_view_options options = {.engine = flow_engines[i]};
		struct ptl_trace *trace = make_trace(whole_image, flow->pt_size);
		struct seen first, second;

		options.selection.last_time = 100 + middle - 1;
		decode_with(trace, &options, &first);
		options.selection.first_time = 100 + middle;
		options.selection.last_time = 0;
		decode_with(trace, &options, &second);
		assert_true(first.ip_count > 0 && second.ip_count > 0);
		assert_int_equal(first.ip_count + second.ip_count, flow->truth_count);
		assert_memory_equal(first.ips, flow->truth, first.ip_count * sizeof(uint64_t));
		assert_memory_equal(second.ips, flow->truth + first.ip_count, second.ip_count * sizeof(uint64_t));
		free_seen(&first);
		free_seen(&second);
		ptl_close(trace);
	}
}

static void selections(void **state)
{
	(void)state;
	random_flow_make(flow, 10, 1000);
	for (size_t i = 0; flow_engines[i]; i++) {
		struct ptl_trace *trace = make_trace(whole_image, flow->pt_size);
		const uint32_t here = PID, elsewhere = PID + 1;
		struct flow_view_options options = {.engine = flow_engines[i]};
		struct seen seen;

		options.selection.pids = &here;
		options.selection.pid_count = 1;
		decode_with(trace, &options, &seen);
		assert_int_equal(seen.ip_count, flow->truth_count);
		free_seen(&seen);
		options.selection.tids = &elsewhere;
		options.selection.tid_count = 1;
		decode_with(trace, &options, &seen);
		assert_int_equal(seen.ip_count, 0);
		free_seen(&seen);
		ptl_close(trace);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs), cmocka_unit_test(cut_streams),
		cmocka_unit_test(holes),           cmocka_unit_test(bytes_before_the_first_psb),
		cmocka_unit_test(missing_code),    cmocka_unit_test(code_outside_of_images),
		cmocka_unit_test(damaged_packets), cmocka_unit_test(code_follows_time),
		cmocka_unit_test(figures),         cmocka_unit_test(threads_with_several_streams),
		cmocka_unit_test(views_that_fail), cmocka_unit_test(segments_by_time),
		cmocka_unit_test(windows),         cmocka_unit_test(selections),
	};

	int failures = cmocka_run_group_tests(tests, set_up, tear_down);

	random_flow_report(&seeds);
	return failures;
}
