/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests streams, blobs, growing inputs and unseekable inputs of the relogger. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/reader.h>
#include <ptl/relogger.h>
#include <ptl/writer.h>

#include "common/bytes.h"
#include "format/container/layout.h"
#include "tests/unit/relogger_sample.h"

static int keep_ranges(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
		       const struct ptl_stream *stream, struct ptl_stream_plan *plan)
{
	(void)relogger;
	(void)input;
	if (stream->kind == PTL_KIND_PT)
		*plan = *(const struct ptl_stream_plan *)context;
	return 0;
}

static void ranges_of_a_stream_are_kept(void **state)
{
	static const struct ptl_stream_range ranges[] = {{1 * RELOGGER_PIECE, 2 * RELOGGER_PIECE},
							 {3 * RELOGGER_PIECE, 6 * RELOGGER_PIECE},
							 {8 * RELOGGER_PIECE, UINT64_MAX}};
	const struct ptl_machine machine = relogger_machine("a");
	struct ptl_stream_plan plan = {.ranges = ranges, .range_count = 3};
	struct relogger_run run = relogger_start(NULL, relogger_sample(&machine, NULL));
	uint8_t numbers[16];
	uint64_t positions[16];
	struct ptl_trace *trace;

	(void)state;
	relogger_add_stage(
		&run,
		(struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .stream = keep_ranges},
		&plan);
	trace = relogger_finish(&run);
	assert_int_equal(relogger_pieces(trace, numbers, positions), 5);
	for (size_t i = 0; i < 5; i++) {
		static const uint8_t want[] = {1, 3, 4, 5, 8};

		assert_int_equal(numbers[i], want[i]);
		assert_int_equal(positions[i], (want[i] - 1u) * RELOGGER_PIECE);
	}
	assert_int_equal(relogger_stream(trace, PTL_KIND_PT)->bytes, 8 * RELOGGER_PIECE);
	for (size_t i = 0; i < ptl_damage_count(trace); i++) /* the unknown kind and record */
		assert_int_equal(ptl_damage_at(trace, i)->status, PTL_UNSUPPORTED);
	ptl_close(trace);
	plan = (struct ptl_stream_plan){.drop = true};
	run = relogger_start(NULL, relogger_sample(&machine, NULL));
	relogger_add_stage(
		&run,
		(struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .stream = keep_ranges},
		&plan);
	trace = relogger_finish(&run);
	assert_true(!relogger_stream(trace, PTL_KIND_PT) || relogger_stream(trace, PTL_KIND_PT)->bytes == 0);
	assert_non_null(relogger_stream(trace, RELOGGER_UNKNOWN_KIND));
	ptl_close(trace);
	plan = (struct ptl_stream_plan){.ranges = (struct ptl_stream_range[]){{5, 6}, {5, 9}}, .range_count = 2};
	run = relogger_start(NULL, relogger_sample(&machine, NULL));
	relogger_add_stage(
		&run,
		(struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .stream = keep_ranges},
		&plan);
	relogger_fails(&run, PTL_MISUSE, "out of order");
}

static int drop_shared(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
		       const struct ptl_blob_info *blob, bool *keep_it)
{
	(void)context;
	(void)relogger;
	(void)input;
	*keep_it = blob->size != sizeof(RELOGGER_SHARED_CODE);
	return 0;
}

/*
 * Changes buffers of unknown kind to kind 0, which no writer makes. Cuts off everything behind them, including the
 * index.
 */
static void make_kind_0(int fd)
{
	uint8_t header[FORMAT_BUFFER_HEADER_SIZE];
	uint64_t at = FORMAT_FILE_HEADER_SIZE;

	for (;;) {
		assert_int_equal(pread(fd, header, sizeof(header), (off_t)at), sizeof(header));
		if (common_load32(header + 8) == RELOGGER_UNKNOWN_KIND)
			break;
		at += sizeof(header) + common_load32(header + 32) + common_load32(header + 40);
	}
	common_store32(header + 8, 0);
	common_store64(header + 96, format_checksum(header, 96));
	assert_int_equal(pwrite(fd, header, sizeof(header), (off_t)at), sizeof(header));
	at += sizeof(header) + common_load32(header + 32) + common_load32(header + 40);
	assert_int_equal(ftruncate(fd, (off_t)at), 0);
}

static void a_stream_of_kind_0_is_kept(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	const int fd = relogger_sample(&machine, NULL);
	struct relogger_run run;
	struct ptl_trace *trace;
	char bytes[16];
	uint64_t hole;
	size_t got;

	(void)state;
	make_kind_0(fd);
	run = relogger_start(NULL, fd);
	trace = relogger_finish(&run);
	assert_non_null(relogger_stream(trace, 0));
	assert_int_equal(ptl_stream_read(trace, relogger_stream(trace, 0)->id, 0, bytes, sizeof(bytes), &got, &hole),
			 0);
	assert_int_equal(got, 7);
	assert_memory_equal(bytes, "unknown", 7);
	ptl_close(trace);
}

static void a_blob_is_left_out(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	struct relogger_run run = relogger_start(NULL, relogger_sample(&machine, relogger_own_code));
	struct ptl_trace *trace;
	uint8_t *data;
	size_t size;

	(void)state;
	relogger_add_stage(
		&run,
		(struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .blob = drop_shared},
		NULL);
	trace = relogger_finish(&run);
	assert_int_equal(ptl_blob_count(trace), 1);
	assert_int_equal(ptl_blob_read(trace, ptl_blob_at(trace, 0)->hash, 1000, &data, &size), 0);
	assert_int_equal(size, strlen(relogger_own_code));
	assert_memory_equal(data, relogger_own_code, size);
	free(data);
	ptl_close(trace);
}

static void everything_is_compressed_anew(void **state)
{
	static const int levels[] = {0, 1, 19};
	const struct ptl_machine machine = relogger_machine("a");
	uint64_t sizes[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct relogger_run run = relogger_start(NULL, relogger_sample(&machine, relogger_own_code));
		struct ptl_trace *trace;
		uint8_t numbers[16];
		uint64_t positions[16];

		assert_int_equal(ptl_relogger_recompress(run.relogger, levels[i]), 0);
		trace = relogger_finish(&run);
		assert_int_equal(relogger_events(trace).count, 101);
		assert_int_equal(relogger_events(trace).id_sum, 99 * 50);
		assert_int_equal(relogger_pieces(trace, numbers, positions), 9);
		assert_int_equal(ptl_blob_count(trace), 2);
		assert_int_equal(relogger_stream(trace, RELOGGER_UNKNOWN_KIND)->bytes, 7);
		for (size_t j = 0; !i && j < ptl_buffer_count(trace); j++)
			assert_int_equal(ptl_buffer_at(trace, j)->codec, 0);
		sizes[i] = ptl_trace_size(trace);
		ptl_close(trace);
	}
	assert_true(sizes[0] > sizes[1]);
	assert_true(sizes[1] >= sizes[2]);
}

/* Writes a trace slowly into a file that the relogger waits for. */
static void *write_slowly(void *context)
{
	const int *files = context;
	uint8_t data[1000];
	ssize_t size;

	for (off_t at = 0; (size = pread(files[0], data, sizeof(data), at)) > 0; at += size) {
		if (pwrite(files[1], data, (size_t)size, at) != size)
			break;
		usleep(1000);
	}
	return NULL;
}

static void *cancel_soon(void *context)
{
	usleep(30000);
	ptl_relogger_cancel(context);
	return NULL;
}

static void a_live_file_is_followed(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	int files[2] = {relogger_sample(&machine, relogger_own_code), relogger_new_file()};
	struct relogger_run run = relogger_start(NULL, -1);
	struct ptl_trace *trace;
	pthread_t thread;
	const int empty = relogger_new_file();

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, write_slowly, files), 0);
	assert_int_equal(ptl_relogger_add_fd(run.relogger, files[1], "live", true, NULL, NULL), 0);
	pthread_join(thread, NULL);
	relogger_add_stage(
		&run,
		(struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .event = relogger_keep},
		NULL);
	trace = relogger_finish(&run);
	assert_int_equal(relogger_events(trace).count, 101);
	assert_int_equal(ptl_loss_count(trace), 1);
	ptl_close(trace);
	close(files[0]);
	/* Nobody writes: only cancelling ends the wait. */
	run = relogger_start(NULL, -1);
	assert_int_equal(pthread_create(&thread, NULL, cancel_soon, run.relogger), 0);
	assert_int_equal(ptl_relogger_add_fd(run.relogger, empty, "empty", true, NULL, NULL), PTL_CANCELLED);
	pthread_join(thread, NULL);
	ptl_relogger_free(run.relogger);
	close(run.output);
	close(empty);
}

/* A pipe is read to the end. */
static void a_pipe_is_spooled(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	int files[1] = {relogger_sample(&machine, relogger_own_code)}, ends[2];
	struct relogger_run run = relogger_start(NULL, -1);
	struct ptl_trace *trace;
	uint8_t data[60000];
	const ssize_t size = pread(files[0], data, sizeof(data), 0);

	(void)state;
	assert_true(size > 0 && (size_t)size < sizeof(data));
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], data, (size_t)size), size);
	close(ends[1]);
	assert_int_equal(ptl_relogger_add_fd(run.relogger, ends[0], "pipe", true, NULL, NULL), 0);
	trace = relogger_finish(&run);
	assert_int_equal(relogger_events(trace).count, 101);
	ptl_close(trace);
	close(files[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_of_a_stream_are_kept), cmocka_unit_test(a_stream_of_kind_0_is_kept),
		cmocka_unit_test(a_blob_is_left_out),          cmocka_unit_test(everything_is_compressed_anew),
		cmocka_unit_test(a_live_file_is_followed),     cmocka_unit_test(a_pipe_is_spooled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
