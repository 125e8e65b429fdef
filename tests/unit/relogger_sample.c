/* SPDX-License-Identifier: BSD-2-Clause */
/* A trace as input of the relogger, runs of the relogger, and the contents of outputs. */
#include "tests/unit/relogger_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/kernel.h>
#include <ptl/writer.h>

#include "common/bytes.h"
#include "format/container/layout.h"

#define SECOND 1000000000ull

const struct ptl_guid relogger_provider = {{1, 2, 3}};
static const uint8_t psb[16] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
static const char shared_code[] = RELOGGER_SHARED_CODE;
const char relogger_own_code[] = "code of one of them";

/* --- inputs ------------------------------------------------------------------------------------------- */

int relogger_new_file(void)
{
	const int fd = memfd_create("trace", 0);

	assert_true(fd >= 0);
	return fd;
}

static uint32_t declare(struct ptl_writer *writer, uint32_t kind, uint32_t tid)
{
	struct ptl_stream stream = {.kind = kind, .cpu = PTL_NO_CPU, .pid = tid == PTL_NO_ID ? tid : 7, .tid = tid};

	assert_int_equal(ptl_writer_stream(writer, &stream), 0);
	return stream.id;
}

static void add_event(struct ptl_writer *writer, uint32_t stream, uint64_t time, uint16_t id)
{
	const struct ptl_event event = {.descriptor = {.provider = relogger_provider, .id = id},
					.time = time,
					.cpu = 1,
					.pid = 7,
					.tid = 8,
					.payload = (const uint8_t *)"payload",
					.payload_size = 7};

	assert_int_equal(ptl_writer_event(writer, stream, &event), 0);
}

static void add_process(struct ptl_writer *writer, uint32_t stream, uint64_t time)
{
	const struct ptl_process_event process = {.unique_key = 1,
						  .process_id = 7,
						  .parent_id = 0,
						  .image_file_name = "/bin/seven",
						  .command_line = "seven"};
	struct ptl_bytes storage = {0};
	struct ptl_event event = {0};

	assert_int_equal(ptl_process_encode(&process, PTL_OPCODE_START, &storage, &event), 0);
	event.time = time;
	event.cpu = PTL_NO_CPU;
	event.pid = event.tid = 7;
	assert_int_equal(ptl_writer_event(writer, stream, &event), 0);
	common_bytes_free(&storage);
}

/* Adds pieces of PT. Each piece starts with a PSB and has distinct bytes. */
static void add_pt(struct ptl_writer *writer, uint32_t stream, unsigned pieces)
{
	uint8_t data[RELOGGER_PIECE];
	uint32_t seed = 1;

	for (unsigned i = 0; i < pieces; i++) {
		for (size_t j = 0; j < RELOGGER_PIECE; j++) {
			seed = seed * 1664525 + 1013904223;
			data[j] = (uint8_t)(seed >> 24);
		}
		memcpy(data, psb, sizeof(psb));
		data[16] = (uint8_t)i;
		assert_int_equal(ptl_writer_psb(writer, stream, (uint64_t)i * RELOGGER_PIECE, i ? 1000 + i : 0), 0);
		assert_int_equal(ptl_writer_bytes(writer, stream, data, RELOGGER_PIECE, 1000 + i), 0);
	}
}

struct ptl_machine relogger_machine(const char *boot)
{
	struct ptl_machine machine = {.source = "qemu",
				      .clock = PTL_CLOCK_MONOTONIC,
				      .start_time = 1000,
				      .end_time = 9000,
				      .wall_start = (int64_t)(1700000000 * SECOND),
				      .wall_uncertainty = 40};

	snprintf(machine.boot_id, sizeof(machine.boot_id), "%s", boot);
	return machine;
}

/* Two alternating event streams, PT with 9 PSBs, a stream of unknown kind, blobs, an unknown record, a loss. */
int relogger_sample(const struct ptl_machine *machine, const char *extra_code)
{
	const struct ptl_writer_options options = {.size = sizeof(options), .buffer_size = 2 * RELOGGER_PIECE};
	const int fd = relogger_new_file();
	struct ptl_writer *writer;
	uint8_t hash[PTL_HASH_SIZE];
	uint32_t pt, first, second, unknown;
	struct ptl_loss loss = {.kind = PTL_LOSS_BYTES, .pid = 7, .tid = 8, .count = 1, .cause = "a test"};

	assert_int_equal(ptl_writer_open(dup(fd), &options, &writer), 0);
	assert_int_equal(ptl_writer_machine(writer, machine), 0);
	pt = declare(writer, PTL_KIND_PT, 8);
	unknown = declare(writer, RELOGGER_UNKNOWN_KIND, 8);
	first = declare(writer, PTL_KIND_EVENTS, PTL_NO_ID);
	second = declare(writer, PTL_KIND_EVENTS, PTL_NO_ID);
	loss.stream = pt;
	assert_int_equal(ptl_writer_loss(writer, &loss), 0);
	assert_int_equal(ptl_writer_record(writer, 77, "future", 6), 0);
	add_process(writer, first, 1000);
	for (unsigned i = 0; i < 100; i++)
		add_event(writer, i % 2 ? second : first, 1000 + 10 * i, (uint16_t)i);
	add_pt(writer, pt, 9);
	assert_int_equal(ptl_writer_bytes(writer, unknown, "unknown", 7, 1500), 0);
	assert_int_equal(ptl_writer_blob(writer, PTL_BLOB_CODE, shared_code, sizeof(shared_code), hash), 0);
	if (extra_code)
		assert_int_equal(ptl_writer_blob(writer, PTL_BLOB_CODE, extra_code, strlen(extra_code), hash), 0);
	assert_int_equal(ptl_writer_close(writer), 0);
	return fd;
}

/* --- running ------------------------------------------------------------------------------------------ */

struct relogger_run relogger_start(const struct ptl_relogger_options *options, int input)
{
	struct relogger_run run = {.output = relogger_new_file()};

	assert_int_equal(ptl_relogger_new(options, &run.relogger), 0);
	if (input >= 0)
		assert_int_equal(ptl_relogger_add_fd(run.relogger, input, "input", false, NULL, NULL), 0);
	assert_int_equal(ptl_relogger_output_fd(run.relogger, dup(run.output)), 0);
	return run;
}

void relogger_add_stage(struct relogger_run *run, struct ptl_relogger_callbacks callbacks, void *context)
{
	assert_int_equal(ptl_relogger_callbacks(run->relogger, &callbacks, context), 0);
}

int relogger_keep(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	(void)context;
	return ptl_relogger_inject(relogger, event);
}

struct ptl_trace *relogger_finish(struct relogger_run *run)
{
	struct ptl_trace *trace;

	if (ptl_relogger_process(run->relogger))
		fail_msg("%s", ptl_error_text());
	ptl_relogger_free(run->relogger);
	assert_int_equal(ptl_open_fd(run->output, "output", NULL, &trace), 0);
	assert_true(ptl_trace_complete(trace));
	return trace;
}

void relogger_fails(struct relogger_run *run, int status, const char *text)
{
	assert_int_equal(ptl_relogger_process(run->relogger), status);
	if (text && !strstr(ptl_error_text(), text))
		fail_msg("%s", ptl_error_text());
	ptl_relogger_free(run->relogger);
	close(run->output);
}

/* --- what an output holds ----------------------------------------------------------------------------- */

static int see(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct relogger_seen *seen = context;

	(void)trace;
	if (seen->count < 512) {
		seen->times[seen->count] = event->time;
		seen->ids[seen->count] = event->descriptor.id;
		seen->pids[seen->count] = event->pid;
	}
	seen->count++;
	seen->backwards += event->time < seen->last_time;
	seen->last_time = event->time;
	seen->injected += (event->flags & PTL_EVENT_INJECTED) != 0;
	seen->id_sum += event->descriptor.id;
	return 0;
}

struct relogger_seen relogger_events(struct ptl_trace *trace)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = see};
	struct relogger_seen seen = {0};

	assert_int_equal(ptl_process(trace, NULL, &callbacks, &seen), 0);
	return seen;
}

const struct ptl_stream *relogger_stream(const struct ptl_trace *trace, uint32_t kind)
{
	for (size_t i = 0; i < ptl_stream_count(trace); i++)
		if (ptl_stream_at(trace, i)->kind == kind)
			return ptl_stream_at(trace, i);
	return NULL;
}

/* Lists the pieces of PT in the output, by position. */
size_t relogger_pieces(struct ptl_trace *trace, uint8_t *numbers, uint64_t *positions)
{
	const uint32_t id = relogger_stream(trace, PTL_KIND_PT)->id;
	const struct ptl_psb *psbs;
	size_t count;

	assert_int_equal(ptl_psb_index(trace, id, &psbs, &count), 0);
	for (size_t i = 0; i < count; i++) {
		uint8_t data[17];
		uint64_t hole;
		size_t got;

		assert_int_equal(ptl_stream_read(trace, id, psbs[i].offset, data, 17, &got, &hole), 0);
		assert_int_equal(got, 17);
		assert_memory_equal(data, psb, 16);
		numbers[i] = data[16];
		positions[i] = psbs[i].offset;
		assert_int_equal(psbs[i].time, data[16] ? 1000 + data[16] : 0);
	}
	return count;
}
