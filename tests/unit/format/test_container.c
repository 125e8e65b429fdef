/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that written bytes with holes, PSBs and blobs are read back, also while the file grows. */
#include <pthread.h>

#include <ptl/pt.h>

#include "tests/unit/format_sample.h"

#define PT_SIZE 200000

static void bytes_and_holes_come_back(void **state)
{
	static uint8_t data[PT_SIZE], back[PT_SIZE];
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){
			    .size = sizeof(struct ptl_writer_options), .buffer_size = 4096, .threads = 1});
	const uint32_t stream = sample_stream(writer, PTL_KIND_PT, 1);
	struct ptl_trace *trace;
	uint64_t hole;
	size_t got;

	(void)state;
	for (size_t i = 0; i < PT_SIZE; i++)
		data[i] = (uint8_t)(i * i >> 5);
	assert_done(ptl_writer_hole(writer, stream, 10, 1));
	assert_done(ptl_writer_bytes(writer, stream, data, PT_SIZE / 2, 2));
	assert_done(ptl_writer_hole(writer, stream, 1000, 3));
	assert_done(ptl_writer_hole(writer, stream, 1000, 3));
	assert_done(ptl_writer_bytes(writer, stream, data + PT_SIZE / 2, PT_SIZE / 2, 4));
	assert_done(ptl_writer_hole(writer, stream, 77, 5));
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	assert_int_equal(ptl_stream_find(trace, stream)->bytes, PT_SIZE + 10 + 2000 + 77);
	assert_int_equal(ptl_stream_find(trace, stream)->first_time, 1);
	assert_int_equal(ptl_stream_find(trace, stream)->last_time, 5);
	assert_done(ptl_stream_read(trace, stream, 0, back, 100, &got, &hole));
	assert_int_equal(got, 0);
	assert_int_equal(hole, 10);
	assert_done(ptl_stream_read(trace, stream, 10, back, PT_SIZE, &got, &hole));
	assert_int_equal(got, PT_SIZE / 2);
	assert_memory_equal(back, data, got);
	assert_done(ptl_stream_read(trace, stream, 10 + PT_SIZE / 2, back, 1, &got, &hole));
	assert_int_equal(hole, 2000);
	for (uint64_t at = PT_SIZE / 2; at < PT_SIZE; at += 3777) {
		const size_t want = PT_SIZE - at < 5000 ? PT_SIZE - at : 5000;

		assert_done(ptl_stream_read(trace, stream, 2010 + at, back, want, &got, &hole));
		assert_int_equal(got, want);
		assert_memory_equal(back, data + at, got);
	}
	assert_done(ptl_stream_read(trace, stream, 2010 + PT_SIZE, back, 9, &got, &hole));
	assert_int_equal(hole, 77);
	assert_done(ptl_stream_read(trace, stream, 2010 + PT_SIZE + 77, back, 9, &got, &hole));
	assert_int_equal(got + hole, 0);
	assert_int_equal(ptl_stream_read(trace, 0, 0, back, 9, &got, &hole), PTL_MISUSE);
	ptl_close(trace);
	close(fd);
}

/* Reading ahead meets a damaged buffer first. */
static void reading_ahead_changes_nothing(void **state)
{
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){.size = sizeof(struct ptl_writer_options), .buffer_size = 4096});
	const uint32_t stream = sample_stream(writer, PTL_KIND_PT, 1);
	static uint8_t data[PT_SIZE], back[PT_SIZE];
	struct ptl_trace *trace;
	uint64_t hole;
	size_t got, damaged;

	(void)state;
	for (size_t i = 0; i < PT_SIZE; i++)
		data[i] = (uint8_t)(i * i >> 5);
	assert_done(ptl_writer_bytes(writer, stream, data, PT_SIZE, 1));
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	damaged = (size_t)ptl_buffer_at(trace, 1)->stream.id == stream ? 1 : 2;
	assert_int_equal(ptl_buffer_at(trace, damaged)->stream.id, stream);
	assert_true(pwrite(fd, "damage", 6, (off_t)ptl_buffer_at(trace, damaged)->offset + 120) == 6);
	for (size_t n = 0; n <= PT_SIZE / 4096 + 1; n++)
		ptl_stream_read_ahead(trace, stream, n % 3 * 5000, n % 2 ? PT_SIZE : 10000, n);
	ptl_stream_read_ahead(trace, stream, PT_SIZE + 10, UINT64_MAX, 0);
	ptl_stream_read_ahead(trace, stream + 100, 0, UINT64_MAX, 0);
	assert_int_equal(ptl_damage_count(trace), 1);
	for (uint64_t at = 0; at < PT_SIZE; at += got + hole) {
		assert_done(ptl_stream_read(trace, stream, at, back, 999, &got, &hole));
		assert_memory_equal(back, data + at, got);
		assert_true(got + hole > 0);
		if (hole)
			assert_int_equal(at + hole, ptl_buffer_at(trace, damaged)->position +
							    ptl_buffer_at(trace, damaged)->raw_size);
	}
	assert_int_equal(ptl_damage_count(trace), 1);
	ptl_close(trace);
	close(fd);
}

/* PSBs may be reported before or after their bytes are written. */
static void psbs_come_back(void **state)
{
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){.size = sizeof(struct ptl_writer_options), .buffer_size = 4096});
	const uint32_t stream = sample_stream(writer, PTL_KIND_PT, 1);
	static uint8_t data[40000];
	const struct ptl_psb *psbs;
	struct ptl_trace *trace;
	size_t count;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		assert_done(ptl_writer_psb(writer, stream, i * 40 + i % 7, i % 13 ? 1000 + i * 100 : 0));
		if (i % 50 == 49)
			assert_done(ptl_writer_bytes(writer, stream, data, i % 100 == 49 ? 500 : 3500, i));
	}
	assert_int_equal(ptl_writer_psb(writer, stream, 999 * 40 + 10, 0), PTL_MISUSE);
	assert_done(ptl_writer_close(writer));
	for (int scanned = 0; scanned < 2; scanned++) {
		trace = sample_open(fd, scanned);
		assert_done(ptl_psb_index(trace, stream, &psbs, &count));
		assert_int_equal(count, 1000);
		for (uint64_t i = 0; i < 1000; i++) {
			assert_int_equal(psbs[i].offset, i * 40 + i % 7);
			assert_int_equal(psbs[i].time, i % 13 ? 1000 + i * 100 : 0);
		}
		ptl_close(trace);
	}
	close(fd);
}

/* Times of bytes never precede the PSB or bytes before; skipping buffers by time relies on that. */
static void buffers_of_bytes_have_their_times(void **state)
{
	static const uint64_t expected[][2] = {{40, 50}, {50, 60}, {60, 70}};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){.size = sizeof(struct ptl_writer_options), .buffer_size = 4096});
	const uint32_t stream = sample_stream(writer, PTL_KIND_PT, 1);
	static const uint8_t data[4096];
	struct ptl_trace *trace;
	size_t found = 0;

	(void)state;
	assert_done(ptl_writer_psb(writer, stream, 0, 40));
	assert_done(ptl_writer_psb(writer, stream, 16, 0));
	assert_done(ptl_writer_bytes(writer, stream, data, sizeof(data), 50));
	assert_done(ptl_writer_psb(writer, stream, 4096, 55));
	assert_done(ptl_writer_bytes(writer, stream, data, sizeof(data), 60));
	assert_done(ptl_writer_bytes(writer, stream, data, 10, 70));
	/* a PSB in earlier bytes */
	assert_done(ptl_writer_psb(writer, stream, 5000, 45));
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	for (size_t i = 0; i < ptl_buffer_count(trace); i++) {
		const struct ptl_buffer *buffer = ptl_buffer_at(trace, i);

		if (buffer->stream.id != stream)
			continue;
		assert_in_range(found, 0, 2);
		assert_int_equal(buffer->first_time, expected[found][0]);
		assert_int_equal(buffer->last_time, expected[found++][1]);
	}
	assert_int_equal(found, 3);
	ptl_close(trace);
	close(fd);
}

/* Without entries the codec searches PSBs: across buffers, at the end of longer runs, but not across holes. */
static void psbs_are_found(void **state)
{
	static const struct {
		unsigned at, pairs;
	} runs[] = {{0, 8}, {20, 9}, {100, 7}, {127, 8}, {190, 40}, {350, 8}, {366, 1}, {384, 16}, {500, 8}};
	uint8_t data[600] = {0};
	uint64_t expected[16];
	size_t expected_count = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
		for (unsigned k = 0; k < runs[i].pairs; k++)
			memcpy(data + runs[i].at + 2 * k, "\x02\x82", 2);
	for (size_t at = 0; (at = ptl_pt_find_psb(data, sizeof(data), at)) < sizeof(data); at += 16)
		expected[expected_count++] = at;
	assert_int_equal(expected_count, 7);
	for (size_t part = 1; part < 60; part++) {
		const int fd = sample_fd();
		struct ptl_writer *writer = sample_writer(fd, NULL);
		const uint32_t stream = sample_stream(writer, PTL_KIND_PT, 1);
		const struct ptl_psb *psbs;
		struct ptl_trace *trace;
		size_t count;

		for (size_t at = 0; at < sizeof(data); at += part) {
			assert_done(ptl_writer_bytes(writer, stream, data + at,
						     part < sizeof(data) - at ? part : sizeof(data) - at, 1));
			assert_done(ptl_writer_flush(writer));
		}
		/* Two halves of a PSB around a hole do not count. */
		assert_done(ptl_writer_bytes(writer, stream, data, 8, 1));
		assert_done(ptl_writer_hole(writer, stream, 10, 1));
		assert_done(ptl_writer_bytes(writer, stream, data, 8, 1));
		assert_done(ptl_writer_close(writer));
		trace = sample_open(fd, part % 2);
		assert_done(ptl_psb_index(trace, stream, &psbs, &count));
		assert_int_equal(count, expected_count);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(psbs[i].offset, expected[i]);
		ptl_close(trace);
		close(fd);
	}
}

struct reading {
	struct ptl_trace *trace;
	const char *failure;
};

static void *read_all(void *context)
{
	struct reading *reading = context;
	struct ptl_trace *trace = reading->trace;
	const struct ptl_stream *stream = ptl_stream_at(trace, ptl_stream_count(trace) - 1);
	uint8_t data[777];
	uint64_t hole, at = 0;
	size_t got;

	do {
		if (ptl_stream_read(trace, stream->id, at, data, sizeof(data), &got, &hole))
			reading->failure = "a read fails";
		for (size_t i = 0; i < got; i++)
			if (data[i] != (uint8_t)((at + i) >> 3))
				reading->failure = "a byte is wrong";
		at += got;
	} while (got && !reading->failure);
	if (at != PT_SIZE && !reading->failure)
		reading->failure = "bytes are missing";
	return NULL;
}

/* The cache is much smaller than the stream, so threads evict each other's buffers. */
static void threads_may_read_together(void **state)
{
	static uint8_t data[PT_SIZE];
	const struct ptl_open_options options = {.size = sizeof(options), .memory_limit = 20000};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){.size = sizeof(struct ptl_writer_options), .buffer_size = 4096});
	const uint32_t stream = sample_stream(writer, PTL_KIND_TRUTH, 1);
	struct reading readings[4] = {0};
	pthread_t threads[4];
	struct ptl_trace *trace;

	(void)state;
	for (size_t i = 0; i < PT_SIZE; i++)
		data[i] = (uint8_t)(i >> 3);
	assert_done(ptl_writer_bytes(writer, stream, data, PT_SIZE, 1));
	assert_done(ptl_writer_close(writer));
	assert_done(ptl_open_fd(dup(fd), "sample", &options, &trace));
	for (int i = 0; i < 4; i++) {
		readings[i].trace = trace;
		assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readings[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		if (readings[i].failure)
			fail_msg("%s", readings[i].failure);
	}
	ptl_close(trace);
	close(fd);
}

static void buffers_can_be_read_in_each_way(void **state)
{
	const int fd = sample_fd();
	const uint8_t *here;
	struct ptl_trace *trace;
	size_t size, again;
	uint8_t *fresh;

	(void)state;
	sample_write(fd, true);
	trace = sample_open(fd, false);
	for (size_t i = 0; i < ptl_buffer_count(trace); i++) {
		uint8_t own[65536];

		assert_done(ptl_buffer_read(trace, i, &fresh, &size));
		assert_int_equal(size, ptl_buffer_at(trace, i)->raw_size);
		assert_done(ptl_buffer_acquire(trace, i, &here, &again));
		assert_int_equal(size, again);
		assert_memory_equal(here, fresh, size);
		ptl_buffer_release(trace, i);
		assert_done(ptl_buffer_read_into(trace, i, own, sizeof(own)));
		assert_memory_equal(own, fresh, size);
		assert_int_equal(ptl_buffer_read_into(trace, i, own, size - 1), PTL_MISUSE);
		free(fresh);
	}
	assert_int_equal(ptl_buffer_read(trace, 999, &fresh, &size), PTL_MISUSE);
	assert_null(ptl_buffer_at(trace, 999));
	ptl_close(trace);
	close(fd);
}

/* ---- blobs ---------------------------------------------------------------------------------------- */

static void blobs_come_back(void **state)
{
	static uint8_t data[50000], into[sizeof(data) + 1];
	const size_t sizes[] = {0, 1, 4095, 4096, 4097, sizeof(data)};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){
			    .size = sizeof(struct ptl_writer_options), .buffer_size = 4096, .threads = 2});
	uint8_t hash[6][PTL_HASH_SIZE], *back;
	struct ptl_trace *trace;
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + (i >> 8));
	for (int twice = 0; twice < 2; twice++)
		for (size_t i = 0; i < 6; i++)
			assert_done(ptl_writer_blob(writer, PTL_BLOB_CODE, data, sizes[i], hash[i]));
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	assert_int_equal(ptl_blob_count(trace), 6);
	for (size_t i = 0; i < 6; i++) {
		assert_done(ptl_blob_read(trace, hash[i], sizeof(data), &back, &size));
		assert_int_equal(size, sizes[i]);
		assert_memory_equal(back, data, size);
		free(back);
		memset(into, 0xee, sizeof(into));
		assert_done(ptl_blob_read_into(trace, hash[i], into, sizes[i], &size));
		assert_int_equal(size, sizes[i]);
		assert_memory_equal(into, data, size);
		assert_int_equal(into[size], 0xee);
		assert_int_equal(ptl_blob_find(trace, hash[i])->size, sizes[i]);
	}
	assert_int_equal(ptl_blob_read(trace, hash[5], sizeof(data) - 1, &back, &size), PTL_NO_MEMORY);
	assert_int_equal(ptl_blob_read_into(trace, hash[5], into, sizeof(data) - 1, &size), PTL_NO_MEMORY);
	hash[0][0] ^= 1;
	assert_int_equal(ptl_blob_read_into(trace, hash[0], into, 10, &size), PTL_NOT_FOUND);
	assert_int_equal(ptl_blob_read(trace, hash[0], 10, &back, &size), PTL_NOT_FOUND);
	assert_null(ptl_blob_find(trace, hash[0]));
	ptl_close(trace);
	close(fd);
}

/* ---- growth, time --------------------------------------------------------------------------------- */

static void a_growing_file_can_be_read(void **state)
{
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, NULL);
	const uint32_t stream = sample_stream(writer, PTL_KIND_PT, 1);
	struct ptl_trace *trace;

	(void)state;
	for (uint64_t i = 1; i < 5; i++) {
		assert_done(ptl_writer_bytes(writer, stream, "12345", 5, i));
		assert_done(ptl_writer_flush(writer));
		trace = sample_open(fd, false);
		assert_false(ptl_trace_complete(trace));
		assert_int_equal(ptl_stream_find(trace, stream)->bytes, 5 * i);
		assert_int_equal(ptl_damage_count(trace), 1);
		assert_int_equal(ptl_damage_at(trace, 0)->status, PTL_TRUNCATED);
		ptl_close(trace);
	}
	ptl_writer_abandon(writer);
	close(fd);
}

static void old_buffers_are_flushed(void **state)
{
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){.size = sizeof(struct ptl_writer_options), .flush_interval = 1000000});
	const uint32_t stream = sample_stream(writer, PTL_KIND_PT, 1);
	struct ptl_writer_counts before, after;

	(void)state;
	assert_done(ptl_writer_bytes(writer, stream, "a", 1, 1));
	ptl_writer_counts(writer, &before);
	usleep(3000);
	assert_done(ptl_writer_poll(writer));
	ptl_writer_counts(writer, &after);
	assert_true(after.buffers > before.buffers);
	assert_done(ptl_writer_close(writer));
	close(fd);
}

/* A reader of the unclosed file must never find PT without its metadata. */
static void what_explains_pt_is_written_before_it(void **state)
{
	static const uint8_t pt[8192];
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){.size = sizeof(struct ptl_writer_options), .buffer_size = sizeof(pt)});
	const uint32_t bytes = sample_stream(writer, PTL_KIND_PT, 1);
	const uint32_t events = sample_stream(writer, PTL_KIND_EVENTS, 1);
	uint8_t hash[PTL_HASH_SIZE];
	struct ptl_trace *trace;

	(void)state;
	assert_done(ptl_writer_blob(writer, PTL_BLOB_CODE, "code", 4, hash));
	sample_event(writer, events, 1, "thread");
	assert_done(ptl_writer_bytes(writer, bytes, pt, sizeof(pt), 2));
	trace = sample_open(fd, false);
	assert_int_equal(ptl_stream_find(trace, bytes)->bytes, sizeof(pt));
	assert_int_equal(ptl_stream_find(trace, events)->buffers, 1);
	assert_non_null(ptl_blob_find(trace, hash));
	ptl_close(trace);
	assert_done(ptl_writer_close(writer));
	close(fd);
}

static void what_is_no_trace_is_refused(void **state)
{
	struct ptl_trace *trace;
	const int fd = sample_fd();

	(void)state;
	assert_int_equal(ptl_open("/nowhere/at/all", NULL, &trace), PTL_SYSTEM);
	assert_non_null(strstr(ptl_error_text(), "/nowhere/at/all"));
	assert_int_equal(ptl_open("/", NULL, &trace), PTL_SYSTEM);
	assert_int_equal(ptl_open_fd(fd, "sample", NULL, &trace), PTL_TRUNCATED);
	assert_int_equal(write(fd, "text", 4), 4);
	assert_int_equal(ptl_open_fd(fd, "sample", NULL, &trace), PTL_NOT_OURS);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_and_holes_come_back),
		cmocka_unit_test(reading_ahead_changes_nothing),
		cmocka_unit_test(psbs_come_back),
		cmocka_unit_test(buffers_of_bytes_have_their_times),
		cmocka_unit_test(psbs_are_found),
		cmocka_unit_test(threads_may_read_together),
		cmocka_unit_test(buffers_can_be_read_in_each_way),
		cmocka_unit_test(blobs_come_back),
		cmocka_unit_test(a_growing_file_can_be_read),
		cmocka_unit_test(old_buffers_are_flushed),
		cmocka_unit_test(what_explains_pt_is_written_before_it),
		cmocka_unit_test(what_is_no_trace_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
