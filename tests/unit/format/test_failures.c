/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests outputs that refuse bytes, temporarily or permanently: losses are counted and recorded, and the rest stays
 * readable.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/unit/format_sample.h"

static int ignore_signals(void **state)
{
	(void)state;
	/*
	 * Programs that write traces do the same: a full file or a closed pipe is an error, and must not kill the
	 * program.
	 */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

/* Limits regular files to `limit` bytes; RLIM_INFINITY: no limit. */
static void limit_file(rlim_t limit)
{
	struct rlimit rlimit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &rlimit), 0);
	rlimit.rlim_cur = limit;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &rlimit), 0);
}

static void fill(uint8_t *data, size_t size, uint32_t seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1664525 + 1013904223;
		data[i] = (uint8_t)(seed >> 24);
	}
}

#define PART 4096

static void check_around_the_loss(int fd, uint32_t stream, const uint8_t *data, uint64_t lost_from, uint64_t lost)
{
	struct ptl_trace *trace = sample_open(fd, false);
	const struct ptl_loss *loss;
	static uint8_t back[10 * PART];
	uint64_t hole;
	size_t got;

	assert_true(ptl_trace_complete(trace));
	/* Missing buffers are reported as missing, not as damage. */
	assert_int_equal(ptl_damage_count(trace), 1);
	assert_int_equal(ptl_damage_at(trace, 0)->status, PTL_TRUNCATED);
	assert_int_equal(ptl_damage_at(trace, 0)->stream, stream);
	assert_int_equal(ptl_stream_find(trace, stream)->lost, lost);
	assert_int_equal(ptl_loss_count(trace), 1);
	loss = ptl_loss_at(trace, 0);
	assert_int_equal(loss->kind, PTL_LOSS_BUFFERS);
	assert_int_equal(loss->stream, stream);
	assert_int_equal(loss->count, lost);
	assert_int_equal(loss->bytes, lost * PART);
	assert_string_equal(loss->cause, strerror(EFBIG));
	assert_done(ptl_stream_read(trace, stream, 0, back, sizeof(back), &got, &hole));
	assert_int_equal(got, lost_from * PART);
	assert_memory_equal(back, data, got);
	assert_done(ptl_stream_read(trace, stream, lost_from * PART, back, sizeof(back), &got, &hole));
	assert_int_equal(hole, lost * PART);
	assert_done(ptl_stream_read(trace, stream, (lost_from + lost) * PART, back, sizeof(back), &got, &hole));
	assert_int_equal(got, (10 - lost_from - lost) * PART);
	assert_memory_equal(back, data + (lost_from + lost) * PART, got);
	ptl_close(trace);
}

/* The disk is full for three buffers, from the middle of the first buffer on, and then has room again. */
static void write_over_a_full_disk(unsigned threads)
{
	static uint8_t data[10 * PART];
	char path[] = "/tmp/ptl-test-failures-XXXXXX";
	const int fd = mkstemp(path);
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){
			    .size = sizeof(struct ptl_writer_options), .buffer_size = PART, .threads = threads});
	const uint32_t stream = sample_stream(writer, PTL_KIND_PT, 1);
	struct ptl_writer_counts counts;
	unsigned failures = 0;

	unlink(path);
	fill(data, sizeof(data), 7);
	for (unsigned i = 0; i < 10; i++) {
		int status;

		if (i == 4)
			limit_file((rlim_t)lseek(fd, 0, SEEK_END) + 1000);
		if (i == 7)
			limit_file(RLIM_INFINITY);
		status = ptl_writer_bytes(writer, stream, data + i * PART, PART, i);
		if (!status)
			status = ptl_writer_flush(writer);
		if (status) {
			assert_int_equal(status, PTL_SYSTEM);
			assert_non_null(strstr(ptl_error_text(), strerror(EFBIG)));
			failures++;
		}
	}
	ptl_writer_counts(writer, &counts);
	assert_int_equal(counts.lost_buffers, 3);
	/* reported at the failed write, and again by close */
	assert_int_equal(failures, 1);
	assert_int_equal(ptl_writer_close(writer), PTL_SYSTEM);
	assert_non_null(strstr(ptl_error_text(), strerror(EFBIG)));
	check_around_the_loss(fd, stream, data, 4, 3);
	close(fd);
}

static void a_full_disk_costs_what_did_not_fit(void **state)
{
	(void)state;
	write_over_a_full_disk(0);
	write_over_a_full_disk(2);
}

/* The writer keeps a trace's metadata, and writes the metadata when space is free. */
static void metadata_and_blobs_survive_a_full_disk(void **state)
{
	static uint8_t blob[3 * PART];
	const struct ptl_machine machine = {.source = "qemu"};
	char path[] = "/tmp/ptl-test-failures-XXXXXX";
	const int fd = mkstemp(path);
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){.size = sizeof(struct ptl_writer_options), .buffer_size = PART});
	uint8_t hash[PTL_HASH_SIZE], *back;
	struct ptl_trace *trace;
	size_t size;

	(void)state;
	unlink(path);
	fill(blob, sizeof(blob), 9);
	limit_file(64);
	ptl_writer_machine(writer, &machine);
	ptl_writer_blob(writer, PTL_BLOB_CODE, blob, sizeof(blob), hash);
	ptl_writer_flush(writer);
	limit_file(RLIM_INFINITY);
	/* The second call stores the blob, because the first blob was lost. */
	for (int i = 0; i < 2; i++) {
		ptl_writer_flush(writer);
		ptl_writer_blob(writer, PTL_BLOB_CODE, blob, sizeof(blob), hash);
	}
	assert_int_equal(ptl_writer_close(writer), PTL_SYSTEM);
	trace = sample_open(fd, false);
	assert_string_equal(ptl_trace_machine(trace)->source, "qemu");
	assert_true(ptl_loss_count(trace) > 0);
	assert_done(ptl_blob_read(trace, hash, sizeof(blob), &back, &size));
	assert_memory_equal(back, blob, sizeof(blob));
	free(back);
	ptl_close(trace);
	close(fd);
}

static void a_disk_that_stays_full_leaves_a_readable_file(void **state)
{
	static uint8_t data[10 * PART];
	char path[] = "/tmp/ptl-test-failures-XXXXXX";
	const int fd = mkstemp(path);
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){.size = sizeof(struct ptl_writer_options), .buffer_size = PART});
	const uint32_t stream = sample_stream(writer, PTL_KIND_PT, 1);
	struct ptl_trace *trace;

	(void)state;
	unlink(path);
	fill(data, sizeof(data), 5);
	limit_file(5 * PART);
	for (unsigned i = 0; i < 10; i++)
		ptl_writer_bytes(writer, stream, data + i * PART, PART, i);
	assert_int_equal(ptl_writer_close(writer), PTL_SYSTEM);
	limit_file(RLIM_INFINITY);
	trace = sample_open(fd, false);
	assert_int_equal(ptl_stream_find(trace, stream)->buffers, 4);
	/* The end of the file may have found room after the buffers failed. */
	assert_true(ptl_trace_complete(trace) || ptl_damage_count(trace) == 1);
	ptl_close(trace);
	close(fd);
}

/* Recording a loss may be the first call that notices a failed write. */
static void a_loss_record_tells_of_a_failed_write(void **state)
{
	static uint8_t data[2 * PART];
	const struct ptl_loss loss = {.kind = PTL_LOSS_EVENTS, .count = 1, .cause = "ring full"};
	char path[] = "/tmp/ptl-test-failures-XXXXXX";
	const int fd = mkstemp(path);
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){
			    .size = sizeof(struct ptl_writer_options), .buffer_size = PART, .threads = 1});
	const uint32_t stream = sample_stream(writer, PTL_KIND_PT, 1);
	struct ptl_writer_counts counts = {0};
	struct ptl_trace *trace;

	(void)state;
	unlink(path);
	fill(data, sizeof(data), 11);
	limit_file((rlim_t)lseek(fd, 0, SEEK_END) + 1000);
	/* A worker writes the buffer; the failure comes after this call, or is reported by it. */
	if (!ptl_writer_bytes(writer, stream, data, PART, 1)) {
		while (!counts.lost_buffers)
			ptl_writer_counts(writer, &counts);
		assert_int_equal(ptl_writer_loss(writer, &loss), PTL_SYSTEM);
		assert_non_null(strstr(ptl_error_text(), strerror(EFBIG)));
	}
	/* The failure was reported, and the call's data was taken. */
	limit_file(RLIM_INFINITY);
	assert_int_equal(ptl_writer_loss(writer, &loss), 0);
	assert_int_equal(ptl_writer_close(writer), PTL_SYSTEM);
	trace = sample_open(fd, false);
	assert_true(ptl_loss_count(trace) >= 2);
	assert_string_equal(ptl_loss_at(trace, 0)->cause, "ring full");
	ptl_close(trace);
	close(fd);
}

static void a_reader_that_leaves_is_a_failure(void **state)
{
	struct ptl_writer *writer;
	struct ptl_writer_counts counts;
	uint32_t stream;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_done(ptl_writer_open(ends[1], NULL, &writer));
	close(ends[0]);
	stream = sample_stream(writer, PTL_KIND_PT, 1);
	assert_done(ptl_writer_bytes(writer, stream, "abc", 3, 1));
	assert_int_equal(ptl_writer_flush(writer), PTL_SYSTEM);
	assert_non_null(strstr(ptl_error_text(), strerror(EPIPE)));
	ptl_writer_counts(writer, &counts);
	assert_true(counts.lost_buffers > 0);
	assert_int_equal(ptl_writer_close(writer), PTL_SYSTEM);
}

static void what_cannot_be_written_to_is_refused(void **state)
{
	struct ptl_writer *writer;
	const int fd = open("/dev/null", O_RDONLY), full = open("/dev/full", O_WRONLY);

	(void)state;
	assert_int_equal(ptl_writer_open(fd, NULL, &writer), PTL_MISUSE);
	assert_int_equal(ptl_writer_open(-1, NULL, &writer), PTL_SYSTEM);
	assert_int_equal(ptl_writer_open(full, NULL, &writer), PTL_SYSTEM);
	close(fd);
	close(full);
}

/* The writer waits for a full pipe, even if the pipe is non-blocking. */
static void a_slow_pipe_is_waited_for(void **state)
{
	static uint8_t data[300000];
	struct ptl_writer *writer;
	int ends[2], status;
	uint32_t stream;
	pid_t child;

	(void)state;
	fill(data, sizeof(data), 3);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	child = fork();
	if (child == 0) {
		uint64_t total = 0;
		ssize_t n;

		close(ends[1]);
		usleep(20000);
		while ((n = read(ends[0], data, 10000)) > 0)
			total += (uint64_t)n;
		_exit(total > sizeof(data) ? 0 : 1);
	}
	close(ends[0]);
	assert_done(ptl_writer_open(ends[1], NULL, &writer));
	stream = sample_stream(writer, PTL_KIND_PT, 1);
	assert_done(ptl_writer_bytes(writer, stream, data, sizeof(data), 1));
	assert_done(ptl_writer_close(writer));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A killed writer leaves the written buffers. */
static void a_killed_writer_leaves_whole_buffers(void **state)
{
	const int fd = sample_fd();
	struct ptl_trace *trace;
	pid_t child;
	int status;

	(void)state;
	child = fork();
	if (child == 0) {
		struct ptl_writer *writer = sample_writer(
			fd, &(struct ptl_writer_options){
				    .size = sizeof(struct ptl_writer_options), .buffer_size = PART, .threads = 1});
		const uint32_t stream = sample_stream(writer, PTL_KIND_EVENTS, 1);

		for (uint64_t i = 0; i < 20000; i++)
			sample_event(writer, stream, i, "thread");
		/* These events are in the file for any speed of the worker; any part of later events may be. */
		if (ptl_writer_flush(writer))
			_exit(1);
		for (uint64_t i = 20000; i < 40000; i++)
			sample_event(writer, stream, i, "thread");
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	trace = sample_open(fd, false);
	assert_false(ptl_trace_complete(trace));
	assert_true(ptl_damage_count(trace) >= 1);
	assert_true(ptl_buffer_count(trace) > 10);
	for (size_t i = 0; i < ptl_buffer_count(trace); i++) {
		uint8_t *data;
		size_t size;

		assert_done(ptl_buffer_read(trace, i, &data, &size));
		free(data);
	}
	ptl_close(trace);
	close(fd);
}

/* Truncating an open file gives errors, not signals. */
static void a_file_may_shrink_while_it_is_read(void **state)
{
	const int fd = sample_fd();
	struct ptl_trace *trace;
	uint8_t digest[COMMON_SHA256_SIZE];

	(void)state;
	sample_write(fd, true);
	trace = sample_open(fd, false);
	assert_int_equal(ftruncate(fd, 1000), 0);
	assert_true(sample_content(trace, digest) < 15);
	assert_true(ptl_damage_count(trace) > 0);
	assert_int_equal(ptl_damage_at(trace, 0)->status, PTL_TRUNCATED);
	ptl_close(trace);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_disk_costs_what_did_not_fit),
		cmocka_unit_test(metadata_and_blobs_survive_a_full_disk),
		cmocka_unit_test(a_disk_that_stays_full_leaves_a_readable_file),
		cmocka_unit_test(a_loss_record_tells_of_a_failed_write),
		cmocka_unit_test(a_reader_that_leaves_is_a_failure),
		cmocka_unit_test(what_cannot_be_written_to_is_refused),
		cmocka_unit_test(a_slow_pipe_is_waited_for),
		cmocka_unit_test(a_killed_writer_leaves_whole_buffers),
		cmocka_unit_test(a_file_may_shrink_while_it_is_read),
	};

	return cmocka_run_group_tests(tests, ignore_signals, NULL);
}
