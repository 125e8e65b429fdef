/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that buffers, of known or unknown kind, are copied unchanged into another trace. */
#include "format/container/layout.h"
#include "tests/unit/format_sample.h"

/* Copies all copyable buffers. Returns the number of refused buffers. */
static size_t copy_all(struct ptl_trace *trace, struct ptl_writer *writer)
{
	size_t refused = 0;

	for (size_t i = 0; i < ptl_buffer_count(trace); i++) {
		const int status = ptl_writer_copy(writer, trace, i);

		if (status)
			assert_int_equal(status, PTL_CORRUPT);
		refused += status != 0;
	}
	return refused;
}

static void a_copy_has_the_same_content(void **state)
{
	const int from = sample_fd(), to = sample_fd();
	uint8_t original[COMMON_SHA256_SIZE], copied[COMMON_SHA256_SIZE];
	struct ptl_writer *writer = sample_writer(
		to, &(struct ptl_writer_options){.size = sizeof(struct ptl_writer_options), .threads = 2});
	struct ptl_trace *trace;

	(void)state;
	sample_write(from, true);
	trace = sample_open(from, false);
	sample_content(trace, original);
	assert_int_equal(copy_all(trace, writer), 0);
	ptl_close(trace);
	assert_done(ptl_writer_close(writer));
	for (int scanned = 0; scanned < 2; scanned++) {
		trace = sample_open(to, scanned);
		assert_int_equal(sample_content(trace, copied), 15);
		assert_memory_equal(copied, original, sizeof(original));
		assert_int_equal(ptl_damage_count(trace), 0);
		ptl_close(trace);
	}
	close(from);
	close(to);
}

static void streams_of_its_own_stay_apart(void **state)
{
	const int from = sample_fd(), to = sample_fd();
	struct ptl_writer *writer = sample_writer(to, NULL);
	struct ptl_trace *trace;
	uint8_t digest[COMMON_SHA256_SIZE], hash[PTL_HASH_SIZE];
	uint64_t hole;
	char data[4];
	size_t got, blobs;
	uint32_t own;

	(void)state;
	sample_write(from, true);
	trace = sample_open(from, false);
	assert_int_equal(copy_all(trace, writer), 0);
	blobs = ptl_blob_count(trace);
	ptl_close(trace);
	own = sample_stream(writer, PTL_KIND_PT, 99);
	assert_done(ptl_writer_bytes(writer, own, "own", 3, 1));
	/* the copy already contains this blob */
	assert_done(ptl_writer_blob(writer, PTL_BLOB_CODE, "\x90\x90\xc3", 3, hash));
	assert_done(ptl_writer_close(writer));
	trace = sample_open(to, false);
	assert_int_equal(sample_content(trace, digest), 15);
	assert_int_equal(ptl_damage_count(trace), 0);
	assert_int_equal(ptl_blob_count(trace), blobs);
	assert_int_equal(ptl_stream_find(trace, own)->tid, 99);
	assert_done(ptl_stream_read(trace, own, 0, data, sizeof(data), &got, &hole));
	assert_int_equal(got, 3);
	assert_memory_equal(data, "own", 3);
	ptl_close(trace);
	close(from);
	close(to);
}

static void a_damaged_buffer_is_refused(void **state)
{
	const int from = sample_fd(), to = sample_fd();
	struct ptl_writer *writer = sample_writer(to, NULL);
	uint8_t digest[COMMON_SHA256_SIZE], byte = 0xee;
	const struct ptl_buffer *last;
	struct ptl_trace *trace;

	(void)state;
	sample_write(from, true);
	trace = sample_open(from, false);
	last = ptl_buffer_at(trace, 1);
	assert_int_equal(pwrite(from, &byte, 1, (off_t)(last->offset + 104 + last->stored_size - 1)), 1);
	assert_int_equal(copy_all(trace, writer), 1);
	assert_int_equal(ptl_damage_count(trace), 1);
	ptl_close(trace);
	assert_done(ptl_writer_close(writer));
	trace = sample_open(to, false);
	sample_content(trace, digest);
	assert_int_equal(ptl_damage_count(trace), 0);
	ptl_close(trace);
	close(from);
	close(to);
}

/* Makes a file with one buffer of an unknown kind and codec. */
static int future_file(void)
{
	struct format_file_header file = {.major = 1, .minor = 9, .id = {{1, 2, 3, 4, 5, 6, 7, 8}}};
	struct format_buffer_header header = {.codec = 200,
					      .kind = 300,
					      .stream = 1,
					      .cpu = 5,
					      .pid = PTL_NO_ID,
					      .tid = PTL_NO_ID,
					      .raw_size = 1000,
					      .stored_size = 6,
					      .first_time = 3,
					      .last_time = 4,
					      .position = 77,
					      .payload_checksum = format_checksum("future", 6)};
	uint8_t bytes[FORMAT_FILE_HEADER_SIZE + FORMAT_BUFFER_HEADER_SIZE + 6];
	const int fd = sample_fd();

	header.file_id = common_load64(file.id.bytes);
	format_file_header_encode(&file, bytes);
	format_buffer_header_encode(&header, bytes + FORMAT_FILE_HEADER_SIZE);
	memcpy(bytes + sizeof(bytes) - 6, "future", 6);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	return fd;
}

static void what_is_not_known_is_kept(void **state)
{
	const int from = future_file(), to = sample_fd();
	struct ptl_writer *writer = sample_writer(
		to, &(struct ptl_writer_options){.size = sizeof(struct ptl_writer_options), .minor = 9});
	const struct ptl_buffer *buffer;
	struct ptl_trace *trace;
	char stored[6];
	uint16_t major, minor;
	uint8_t *data;
	size_t size;

	(void)state;
	trace = sample_open(from, false);
	assert_int_equal(ptl_buffer_count(trace), 1);
	assert_int_equal(ptl_buffer_read(trace, 0, &data, &size), PTL_UNSUPPORTED);
	assert_int_equal(copy_all(trace, writer), 0);
	ptl_close(trace);
	assert_done(ptl_writer_close(writer));
	trace = sample_open(to, false);
	ptl_trace_version(trace, &major, &minor);
	assert_int_equal(minor, 9);
	assert_int_equal(ptl_buffer_count(trace), 1);
	buffer = ptl_buffer_at(trace, 0);
	assert_int_equal(buffer->stream.kind, 300);
	assert_int_equal(buffer->stream.id, 1);
	assert_int_equal(buffer->stream.cpu, 5);
	assert_int_equal(buffer->codec, 200);
	assert_int_equal(buffer->raw_size, 1000);
	assert_int_equal(buffer->position, 77);
	assert_int_equal(buffer->last_time, 4);
	assert_int_equal(pread(to, stored, 6, (off_t)(buffer->offset + 104)), 6);
	assert_memory_equal(stored, "future", 6);
	for (size_t i = 0; i < ptl_damage_count(trace); i++)
		assert_int_equal(ptl_damage_at(trace, i)->status, PTL_UNSUPPORTED);
	ptl_close(trace);
	close(from);
	close(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_has_the_same_content),
		cmocka_unit_test(streams_of_its_own_stay_apart),
		cmocka_unit_test(a_damaged_buffer_is_refused),
		cmocka_unit_test(what_is_not_known_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
