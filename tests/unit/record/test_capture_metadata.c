/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that the limit of metadata never ends a recording: losses are summed, streams go without a record, schemas are
 * left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/reader.h>

#include "record/capture/capture.h"

#define MESSAGE_SIZE 16000u
#define STREAMS 20u

static char *command_line[] = {(char[]){"test"}, NULL};
static const struct record_settings settings = {.command_line = command_line,
						.source = "test",
						.quiet = true,
						.embed = ELF_EMBED_CODE,
						.clock = PTL_CLOCK_MONOTONIC};
static const struct ptl_machine machine = {
	.source = "test", .mode = 64, .clock = PTL_CLOCK_MONOTONIC, .tsc_multiplier = 1};

struct fixture {
	char path[64];
	struct record_capture capture;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	*state = fixture;
	strcpy(fixture->path, "/tmp/ptl-test-metadata-XXXXXX");
	close(mkstemp(fixture->path));
	unlink(fixture->path);
	assert_int_equal(record_capture_open(&fixture->capture, &settings, fixture->path, &machine), 0);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->path);
	free(fixture);
	return 0;
}

static struct ptl_trace *finish(struct fixture *fixture)
{
	struct ptl_trace *trace;

	assert_int_equal(record_capture_close(&fixture->capture, 1000), 0);
	assert_int_equal(ptl_open(fixture->path, NULL, &trace), 0);
	assert_true(ptl_trace_complete(trace));
	assert_int_equal(ptl_damage_count(trace), 0);
	return trace;
}

/* Writes so many bytes of schemas that records of streams have no room. */
static void put_schemas(struct record_capture *capture, unsigned count)
{
	char *message = malloc(MESSAGE_SIZE + 1);
	struct ptl_schema schema = {.provider = {{1}},
				    .provider_name = "provider",
				    .event_name = "event",
				    .task_name = "",
				    .opcode_name = "",
				    .message = message};

	assert_non_null(message);
	memset(message, 'x', MESSAGE_SIZE);
	message[MESSAGE_SIZE] = 0;
	for (unsigned i = 0; i < count; i++) {
		schema.id = (uint16_t)i;
		assert_int_equal(record_capture_schema(capture, &schema), 0);
	}
	free(message);
}

static void losses_are_added_up(void **state)
{
	struct fixture *fixture = *state;
	struct ptl_trace *trace;
	char cause[256];
	uint64_t events = 0, ends = 0;
	size_t i = 0;

	for (unsigned n = 0; n < 150000; n++) {
		const struct ptl_loss loss = {.kind = PTL_LOSS_EVENTS,
					      .stream = PTL_NO_ID,
					      .pid = n,
					      .tid = PTL_NO_ID,
					      .count = 3,
					      .first_time = 10 + n,
					      .last_time = 20 + n,
					      .cause = cause};

		snprintf(cause, sizeof(cause), "cause %u of %0200u", n, n);
		assert_int_equal(record_capture_loss(&fixture->capture, &loss), 0);
	}
	record_capture_cut_short(&fixture->capture, 500, "a test");
	fixture->capture.unfinished = false;
	assert_int_equal(fixture->capture.losses.lost[PTL_LOSS_EVENTS].count, 450000);
	trace = finish(fixture);
	for (const struct ptl_loss *loss; (loss = ptl_loss_at(trace, i)); i++) {
		events += loss->kind == PTL_LOSS_EVENTS ? loss->count : 0;
		ends += loss->kind == PTL_LOSS_END;
	}
	assert_int_equal(events, 450000);
	assert_int_equal(ends, 1);
	assert_true(i < 20000);
	ptl_close(trace);
}

static void streams_without_records(void **state)
{
	struct fixture *fixture = *state;
	uint32_t streams[STREAMS];
	struct ptl_trace *trace;
	unsigned found = 0;

	put_schemas(&fixture->capture, 600);
	for (unsigned i = 0; i < STREAMS; i++) {
		assert_int_equal(record_capture_thread(&fixture->capture, 100 + i, 200 + i, &streams[i]), 0);
		assert_int_equal(record_capture_pt(&fixture->capture, streams[i], "\0\0\0\0", 4, 30), 0);
	}
	trace = finish(fixture);
	for (size_t i = 0; i < ptl_stream_count(trace); i++) {
		const struct ptl_stream *stream = ptl_stream_at(trace, i);

		found += stream->kind == PTL_KIND_PT && stream->pid >= 100 && stream->tid == stream->pid + 100;
	}
	assert_int_equal(found, STREAMS);
	ptl_close(trace);
}

static void schemas_are_left_out(void **state)
{
	struct fixture *fixture = *state;
	struct ptl_trace *trace;
	unsigned losses = 0;

	put_schemas(&fixture->capture, 1200);
	trace = finish(fixture);
	for (size_t i = 0; ptl_loss_at(trace, i); i++)
		losses += strstr(ptl_loss_at(trace, i)->cause, "no room for more schemas") != NULL;
	assert_int_equal(losses, 1);
	ptl_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(losses_are_added_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(streams_without_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(schemas_are_left_out, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
