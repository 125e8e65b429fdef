/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that each file of a series has what its own packets need: of processes that begin when the next file is there, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/kernel.h>
#include <ptl/reader.h>

#include "flow/view/stats.h"
#include "record/capture/capture.h"
#include "record/capture/machine.h"

static char *command_line[] = {(char[]){"test"}, NULL};
static const struct record_settings settings = {.command_line = command_line,
						.source = "test",
						.quiet = true,
						.mode = RECORD_MODE_NEWFILE,
						.part_time = 1,
						.embed = ELF_EMBED_CODE,
						.clock = PTL_CLOCK_MONOTONIC};

struct fixture {
	char folder[64], path[128];
	struct record_capture capture;
	uint32_t packets, switches;
	uint64_t base; /* time of the trace */
	uint8_t pt[256];
	size_t pt_size;
};

static int set_up(void **state)
{
	const struct ptl_machine machine = {
		.source = "test", .mode = 64, .clock = PTL_CLOCK_MONOTONIC, .tsc_multiplier = 1};
	const struct ptl_stream of_cpu = {.kind = PTL_KIND_PT, .cpu = 0, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	*state = fixture;
	strcpy(fixture->folder, "/tmp/ptl-test-rotation-XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	snprintf(fixture->path, sizeof(fixture->path), "%s/a.ptl", fixture->folder);
	fixture->base = record_now();
	assert_int_equal(record_capture_open(&fixture->capture, &settings, fixture->path, &machine), 0);
	assert_int_equal(record_capture_stream(&fixture->capture, &of_cpu, &fixture->packets), 0);
	assert_int_equal(record_capture_event_stream(&fixture->capture, &fixture->switches), 0);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", fixture->folder);
	assert_int_equal(system(command), 0);
	free(fixture);
	return 0;
}

/* ---- packets --------------------------------------------------------------------------------- */

static void put(struct fixture *fixture, const void *bytes, size_t size)
{
	assert_true(fixture->pt_size + size <= sizeof(fixture->pt));
	memcpy(fixture->pt + fixture->pt_size, bytes, size);
	fixture->pt_size += size;
}

static void put_number(struct fixture *fixture, uint8_t header, uint64_t value, size_t size)
{
	put(fixture, &header, 1);
	put(fixture, &value, size);
}

static void put_time(struct fixture *fixture, uint64_t after)
{
	put_number(fixture, 0x19, fixture->base + after, 7);
}

static void put_psb(struct fixture *fixture, uint64_t after)
{
	for (unsigned i = 0; i < 8; i++)
		put(fixture, "\x02\x82", 2);
	put_time(fixture, after);
	put(fixture, "\x99\x01\x02\x23", 4);
}

/* jz, not taken, and a system call: packets are enabled at the address, and disabled again. */
static const uint8_t code[] = {0x74, 0, 0x0f, 0x05};

static void put_run(struct fixture *fixture, uint64_t address)
{
	put_number(fixture, 0xd1, address, 8);
	put(fixture, "\x04\x01", 2);
}

static void take_packets(struct fixture *fixture, uint64_t after)
{
	assert_int_equal(record_capture_pt(&fixture->capture, fixture->packets, fixture->pt, fixture->pt_size,
					   fixture->base + after),
			 0);
	fixture->pt_size = 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void fact(struct fixture *fixture, const struct record_fact *fact)
{
	assert_int_equal(record_model_fact(fixture->capture.model, fact, record_now()), 0);
}

/* A process begins, has code, and gets the CPU. */
static void begin(struct fixture *fixture, uint32_t number, uint64_t address, uint64_t after)
{
	const uint32_t pid = 10 * number;
	const struct ptl_switch_event data = {.new_thread = pid};
	struct record_fact next = {.kind = RECORD_FACT_PROCESS_START,
				   .process = number,
				   .pid = pid,
				   .tid = pid,
				   .time = fixture->base + after};
	struct ptl_image_event image = {
		.base = address, .size = 4096, .process_id = pid, .file_name = "/bin/p", .protection = 5};
	struct ptl_bytes storage = {0};
	struct ptl_event event = {0};

	fact(fixture, &next);
	next.kind = RECORD_FACT_EXEC;
	next.epoch = 1;
	next.exec.program = (struct record_program){"/bin/p\0\0/\0p", 11};
	fact(fixture, &next);
	assert_int_equal(record_capture_blob(&fixture->capture, PTL_BLOB_CODE, code, sizeof(code), image.code), 0);
	image.has_code = true;
	next.kind = RECORD_FACT_IMAGE_MAP;
	next.epoch = 2;
	next.image = &image;
	fact(fixture, &next);
	assert_int_equal(ptl_switch_encode(&data, &storage, &event), 0);
	event.time = fixture->base + after + 1;
	event.cpu = 0;
	event.pid = event.tid = pid;
	assert_int_equal(record_capture_switch(&fixture->capture, fixture->switches, fixture->packets, &event), 0);
	common_bytes_free(&storage);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The instructions of a thread in a file that has no gap. */
static uint64_t instructions_of(const struct fixture *fixture, const char *file, uint32_t tid)
{
	const struct flow_view_options options = {.selection = {.tids = &tid, .tid_count = 1}, .threads = 1};
	struct flow_timeline *timeline;
	struct flow_stats stats;
	struct ptl_trace *trace;
	uint64_t count;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", fixture->folder, file);
	assert_int_equal(ptl_open(path, NULL, &trace), 0);
	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	assert_int_equal(flow_stats_run(trace, timeline, &options,
					&(struct flow_stats_wanted){.hash = false, .gap_limit = 10}, &stats),
			 0);
	assert_int_equal(stats.total.gaps, 0);
	count = stats.total.instructions;
	flow_stats_free(&stats);
	flow_timeline_free(timeline);
	ptl_close(trace);
	return count;
}

/* Packets of a process go to the file before, which was not there when that was the file at hand. */
static void begun_after_the_next_file(void **state)
{
	struct fixture *fixture = *state;
	struct record_capture *capture = &fixture->capture;

	begin(fixture, 1, 0x400000, 10);
	put_psb(fixture, 20);
	put_run(fixture, 0x400000);
	put_time(fixture, 30);
	take_packets(fixture, 30);
	assert_int_equal(record_capture_advance(capture, record_now() + 1), 0);
	assert_int_equal(capture->rotations, 1);
	assert_non_null(capture->before.writer);
	fixture->base = record_now() + 1;
	begin(fixture, 2, 0x500000, 40);
	put_time(fixture, 50);
	put_run(fixture, 0x500000);
	put_run(fixture, 0x500000);
	put_psb(fixture, 60);
	put_run(fixture, 0x500000);
	take_packets(fixture, 60);
	assert_int_equal(record_capture_close(capture, fixture->base + 70), 0);
	assert_int_equal(instructions_of(fixture, "a.000001.ptl", 10), 2);
	assert_int_equal(instructions_of(fixture, "a.000001.ptl", 20), 4);
	assert_int_equal(instructions_of(fixture, "a.000002.ptl", 20), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(begun_after_the_next_file, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
