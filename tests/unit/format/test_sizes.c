/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests buffers with a stated size that is too large for their bytes, or wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zstd.h>

#include <ptl/error.h>
#include <ptl/reader.h>
#include <ptl/writer.h>

#include "common/bytes.h"
#include "common/error.h"
#include "format/container/codec.h"
#include "format/container/layout.h"
#include "format/reader/damage.h"

#define EVENTS 200000u

static int new_file(void)
{
	const int fd = memfd_create("trace", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Writes enough equal events for a large buffer, which compresses extremely well. */
static void write_events(int fd)
{
	const struct ptl_writer_options options = {.size = sizeof(options), .buffer_size = 512 << 10};
	const struct ptl_event event = {
		.descriptor = {.id = 5}, .time = 1000, .payload = (const uint8_t *)"payload", .payload_size = 7};
	struct ptl_stream stream = {.kind = PTL_KIND_EVENTS, .cpu = PTL_NO_CPU, .pid = 7, .tid = 7};
	struct ptl_writer *writer;

	assert_int_equal(ptl_writer_open(dup(fd), &options, &writer), 0);
	assert_int_equal(ptl_writer_stream(writer, &stream), 0);
	for (unsigned i = 0; i < EVENTS; i++)
		assert_int_equal(ptl_writer_event(writer, stream.id, &event), 0);
	assert_int_equal(ptl_writer_close(writer), 0);
}

static struct ptl_trace *open_trace(int fd, uint32_t max_expansion)
{
	const struct ptl_open_options options = {
		.size = sizeof(options), .ignore_index = true, .max_expansion = max_expansion};
	struct ptl_trace *trace;

	assert_int_equal(ptl_open_fd(dup(fd), "trace", &options, &trace), 0);
	return trace;
}

static size_t largest(const struct ptl_trace *trace)
{
	size_t found = 0;

	for (size_t i = 0; i < ptl_buffer_count(trace); i++)
		if (ptl_buffer_at(trace, i)->stream.kind == PTL_KIND_EVENTS &&
		    ptl_buffer_at(trace, i)->raw_size > ptl_buffer_at(trace, found)->raw_size)
			found = i;
	return found;
}

static int count_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	(void)trace, (void)event;
	++*(uint64_t *)context;
	return 0;
}

static uint64_t count_events(struct ptl_trace *trace)
{
	static const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = count_event};
	uint64_t count = 0;

	assert_int_equal(ptl_process(trace, NULL, &callbacks, &count), 0);
	return count;
}

/* Copies the trace with another payload and raw size for this buffer, and correct checksums. */
static int replace_buffer(int fd, const struct ptl_buffer *buffer, const void *payload, size_t size, uint32_t raw_size)
{
	const size_t head = FORMAT_BUFFER_HEADER_SIZE;
	const int out = new_file();
	struct format_buffer_header header;
	struct stat info;
	uint8_t *data, *rest;

	assert_int_equal(fstat(fd, &info), 0);
	data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(data != MAP_FAILED);
	assert_true(format_buffer_header_decode(data + buffer->offset, &header));
	assert_int_equal(header.side_size, 0);
	rest = data + buffer->offset + head + header.stored_size;
	header.raw_size = raw_size;
	header.stored_size = (uint32_t)size;
	header.payload_checksum = format_checksum(payload, size);
	assert_int_equal(write(out, data, buffer->offset), (ssize_t)buffer->offset);
	{
		uint8_t bytes[FORMAT_BUFFER_HEADER_SIZE];

		format_buffer_header_encode(&header, bytes);
		assert_int_equal(write(out, bytes, head), (ssize_t)head);
	}
	assert_int_equal(write(out, payload, size), (ssize_t)size);
	assert_true(write(out, rest, (size_t)(data + info.st_size - rest)) > 0);
	munmap(data, (size_t)info.st_size);
	return out;
}

static void what_is_written_is_within_the_bound(void **state)
{
	const int fd = new_file();
	struct ptl_trace *trace;

	(void)state;
	write_events(fd);
	trace = open_trace(fd, 0);
	for (size_t i = 0; i < ptl_buffer_count(trace); i++) {
		const struct ptl_buffer *buffer = ptl_buffer_at(trace, i);

		assert_true(buffer->raw_size <=
			    (uint64_t)FORMAT_EXPANSION_MAX * (FORMAT_BUFFER_HEADER_SIZE + buffer->stored_size));
	}
	/* The buffer is compressed all the same. */
	assert_true(ptl_buffer_at(trace, largest(trace))->raw_size >
		    100 * ptl_buffer_at(trace, largest(trace))->stored_size);
	assert_int_equal(count_events(trace), EVENTS);
	assert_int_equal(ptl_damage_count(trace), 0);
	ptl_close(trace);
	close(fd);
}

static int copy_all(struct ptl_trace *trace)
{
	struct ptl_writer *writer;
	int status = 0;

	assert_int_equal(ptl_writer_open(new_file(), NULL, &writer), 0);
	for (size_t i = 0; !status && i < ptl_buffer_count(trace); i++)
		if (ptl_buffer_at(trace, i)->stream.kind == PTL_KIND_EVENTS)
			status = ptl_writer_copy(writer, trace, i);
	ptl_writer_abandon(writer);
	return status;
}

static bool reports(const struct ptl_trace *trace, const char *text)
{
	for (size_t i = 0; i < ptl_damage_count(trace); i++)
		if (strstr(ptl_damage_at(trace, i)->text, text))
			return true;
	return false;
}

static void what_expands_too_far_is_damage(void **state)
{
	const int fd = new_file();
	struct ptl_trace *trace;
	uint8_t *raw, *packed;
	size_t size, packed_size, number;
	int bomb;

	(void)state;
	write_events(fd);
	trace = open_trace(fd, 0);
	number = largest(trace);
	assert_int_equal(ptl_buffer_read(trace, number, &raw, &size), 0);
	packed = malloc(ZSTD_compressBound(size));
	assert_non_null(packed);
	packed_size = ZSTD_compress(packed, ZSTD_compressBound(size), raw, size, 3);
	assert_true(size > FORMAT_EXPANSION_MAX * (FORMAT_BUFFER_HEADER_SIZE + packed_size));
	bomb = replace_buffer(fd, ptl_buffer_at(trace, number), packed, packed_size, (uint32_t)size);
	ptl_close(trace);

	trace = open_trace(bomb, 0);
	assert_true(count_events(trace) < EVENTS);
	assert_true(reports(trace, "--max-expansion"));
	assert_int_equal(copy_all(trace), PTL_CORRUPT);
	ptl_close(trace);
	trace = open_trace(bomb, UINT32_MAX);
	assert_int_equal(count_events(trace), EVENTS);
	assert_int_equal(copy_all(trace), 0);
	ptl_close(trace);
	free(packed);
	free(raw);
	close(bomb);
	close(fd);
}

/* with_size: the frame states the size of its content. */
static void copy_with_another_size(int difference, bool with_size)
{
	const int fd = new_file();
	ZSTD_CCtx *context = ZSTD_createCCtx();
	struct ptl_trace *trace;
	uint8_t *raw, packed[4096];
	size_t size, packed_size;
	int changed;

	write_events(fd);
	trace = open_trace(fd, 0);
	assert_int_equal(ptl_buffer_read(trace, largest(trace), &raw, &size), 0);
	ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, with_size);
	packed_size = ZSTD_compress2(context, packed, sizeof(packed), raw, size);
	assert_false(ZSTD_isError(packed_size));
	changed = replace_buffer(fd, ptl_buffer_at(trace, largest(trace)), packed, packed_size,
				 (uint32_t)((int64_t)size + difference));
	ptl_close(trace);
	trace = open_trace(changed, UINT32_MAX);
	assert_int_equal(copy_all(trace), difference ? PTL_CORRUPT : 0);
	assert_int_equal(ptl_damage_count(trace) > 0, difference != 0);
	ptl_close(trace);
	ZSTD_freeCCtx(context);
	free(raw);
	close(changed);
	close(fd);
}

static void a_wrong_size_shows_when_it_is_copied(void **state)
{
	(void)state;
	for (unsigned with_size = 0; with_size < 2; with_size++) {
		copy_with_another_size(0, with_size);
		copy_with_another_size(1, with_size);
		copy_with_another_size(-1, with_size);
		copy_with_another_size(1000, with_size);
	}
}

static void frames_are_added_up(void **state)
{
	uint8_t packed[512];
	size_t first, size;
	bool known;

	(void)state;
	first = ZSTD_compress(packed, sizeof(packed), "first", 5, 3);
	size = first + ZSTD_compress(packed + first, sizeof(packed) - first, "second", 6, 3);
	assert_int_equal(format_frame_check(packed, size, 11, &known), 0);
	assert_true(known);
	assert_int_equal(format_frame_check(packed, size, 5, &known), PTL_CORRUPT);
	assert_int_equal(format_frame_check(packed, size, 12, &known), PTL_CORRUPT);
	assert_int_equal(format_frame_check(packed, first, 5, &known), 0);
	assert_int_equal(format_frame_check(packed, size - 1, 11, &known), PTL_CORRUPT);
	assert_int_equal(format_frame_check((const uint8_t *)"none", 4, 4, &known), PTL_CORRUPT);
}

/* Pages of zeros are legal, but a small file must not demand memory for all of them at once. */
static void a_blob_that_its_file_cannot_have_is_checked_in_pieces(void **state)
{
	const size_t size = (size_t)65 << 20;
	const int fd = new_file();
	struct format_trace_check check = {.progress = NULL};
	uint8_t hash[PTL_HASH_SIZE], *data, *zeros = calloc(size, 1);
	struct ptl_writer *writer;
	struct ptl_trace *trace;

	(void)state;
	assert_non_null(zeros);
	assert_int_equal(ptl_writer_open(dup(fd), NULL, &writer), 0);
	assert_int_equal(ptl_writer_blob(writer, PTL_BLOB_CODE, zeros, size, hash), 0);
	assert_int_equal(ptl_writer_close(writer), 0);
	trace = open_trace(fd, 0);
	assert_int_equal(format_trace_check(trace, &check), 0);
	assert_int_equal(check.broken_blobs, 0);
	assert_int_equal(ptl_damage_count(trace), 0);
	assert_int_equal(ptl_blob_read(trace, hash, SIZE_MAX, &data, &(size_t){0}), PTL_CORRUPT);
	assert_int_equal(ptl_blob_read_into(trace, hash, zeros, size, &(size_t){0}), PTL_CORRUPT);
	assert_int_equal(ptl_damage_count(trace), 1);
	assert_true(reports(trace, "--max-expansion"));
	ptl_close(trace);
	trace = open_trace(fd, UINT32_MAX);
	assert_int_equal(ptl_blob_read(trace, hash, SIZE_MAX, &data, &(size_t){0}), 0);
	assert_memory_equal(data, zeros, size);
	free(data);
	free(zeros);
	ptl_close(trace);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_blob_that_its_file_cannot_have_is_checked_in_pieces),
		cmocka_unit_test(what_is_written_is_within_the_bound),
		cmocka_unit_test(what_expands_too_far_is_damage),
		cmocka_unit_test(frames_are_added_up),
		cmocka_unit_test(a_wrong_size_shows_when_it_is_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
