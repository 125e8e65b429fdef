/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests copying a trace buffer by buffer: unknown kinds, holes, blobs, damage, and used ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/reader.h>
#include <ptl/writer.h>

#include "common/bytes.h"
#include "format/container/layout.h"

#define UNKNOWN_KIND 99
#define PIECE 3000

static const uint8_t psb[16] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};

static int new_file(void)
{
	int fd = memfd_create("trace", 0);

	assert_true(fd >= 0);
	return fd;
}

static struct ptl_writer *new_writer(int fd)
{
	const struct ptl_writer_options options = {.size = sizeof(options), .buffer_size = 4096};
	struct ptl_writer *writer;

	assert_int_equal(ptl_writer_open(dup(fd), &options, &writer), 0);
	return writer;
}

static uint32_t declare(struct ptl_writer *writer, uint32_t kind, uint32_t tid)
{
	struct ptl_stream stream = {.kind = kind, .cpu = PTL_NO_CPU, .pid = 7, .tid = tid};

	assert_int_equal(ptl_writer_stream(writer, &stream), 0);
	return stream.id;
}

/* Fills incompressible bytes, identical in every run. */
static void fill(uint8_t *data, size_t size, uint32_t seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1664525 + 1013904223;
		data[i] = (uint8_t)(seed >> 24);
	}
}

/* Writes PT with PSBs and a hole, a stream of unknown kind, events, a blob, a loss. */
static void write_trace(int fd)
{
	struct ptl_writer *writer = new_writer(fd);
	struct ptl_loss loss = {.kind = PTL_LOSS_THREAD, .stream = PTL_NO_ID, .pid = 7, .tid = 9, .cause = "gone"};
	const struct ptl_machine machine = {.source = "test", .family = 6, .model = 78};
	uint32_t pt = declare(writer, PTL_KIND_PT, 7);
	uint32_t unknown = declare(writer, UNKNOWN_KIND, 8);
	uint32_t events = declare(writer, PTL_KIND_EVENTS, PTL_NO_ID);
	uint8_t hash[PTL_HASH_SIZE];
	uint8_t piece[PIECE];

	assert_int_equal(ptl_writer_machine(writer, &machine), 0);
	for (uint32_t i = 0; i < 20; i++) {
		const struct ptl_event event = {
			.descriptor = {.id = 5},
			.time = 100 + i,
			.payload = piece,
			.payload_size = 40,
		};

		fill(piece, sizeof(piece), i);
		memcpy(piece, psb, sizeof(psb));
		assert_int_equal(ptl_writer_psb(writer, pt, i * 5000ull, 100 + i), 0);
		assert_int_equal(ptl_writer_bytes(writer, pt, piece, sizeof(piece), 100 + i), 0);
		assert_int_equal(ptl_writer_hole(writer, pt, 2000, 100 + i), 0);
		assert_int_equal(ptl_writer_bytes(writer, unknown, piece, 50, 100 + i), 0);
		assert_int_equal(ptl_writer_event(writer, events, &event), 0);
	}
	assert_int_equal(ptl_writer_blob(writer, PTL_BLOB_CODE, piece, sizeof(piece), hash), 0);
	assert_int_equal(ptl_writer_loss(writer, &loss), 0);
	assert_int_equal(ptl_writer_close(writer), 0);
}

static struct ptl_trace *open_trace(int fd)
{
	struct ptl_trace *trace;

	assert_int_equal(ptl_open_fd(dup(fd), "trace", NULL, &trace), 0);
	return trace;
}

/* Copies all copyable buffers. Returns the number of refused buffers. */
static size_t copy(struct ptl_trace *from, int fd)
{
	struct ptl_writer *writer = new_writer(fd);
	const struct ptl_provenance provenance = {.tool = "test", .version = "1", .command = "copy", .rules = ""};
	size_t lost = 0;

	for (size_t i = 0; i < ptl_buffer_count(from); i++) {
		int status = ptl_writer_copy(writer, from, i);

		assert_true(status == 0 || status == PTL_CORRUPT);
		lost += status != 0;
	}
	assert_int_equal(ptl_writer_provenance(writer, &provenance), 0);
	assert_int_equal(ptl_writer_close(writer), 0);
	return lost;
}

static size_t damages_but_unknown_kinds(struct ptl_trace *trace)
{
	size_t count = 0;

	for (size_t i = 0; i < ptl_damage_count(trace); i++)
		count += ptl_damage_at(trace, i)->status != PTL_UNSUPPORTED;
	return count;
}

static void expect_same_buffers(struct ptl_trace *a, struct ptl_trace *b)
{
	/* One more buffer has the provenance record. */
	assert_int_equal(ptl_buffer_count(b), ptl_buffer_count(a) + 1);
	for (size_t i = 0; i < ptl_buffer_count(a); i++) {
		const struct ptl_buffer *x = ptl_buffer_at(a, i);
		const struct ptl_buffer *y = ptl_buffer_at(b, i);
		uint8_t *data[2];
		size_t size[2];

		assert_int_equal(x->stream.id, y->stream.id);
		assert_int_equal(x->stream.kind, y->stream.kind);
		assert_int_equal(x->sequence, y->sequence);
		/* Positions of events only give an order, and a writer may count other numbers. */
		if (x->stream.kind != PTL_KIND_EVENTS)
			assert_int_equal(x->position, y->position);
		assert_int_equal(x->first_time, y->first_time);
		assert_int_equal(x->last_time, y->last_time);
		assert_int_equal(x->stored_size, y->stored_size);
		assert_int_equal(ptl_buffer_read(a, i, &data[0], &size[0]), 0);
		assert_int_equal(ptl_buffer_read(b, i, &data[1], &size[1]), 0);
		assert_int_equal(size[0], size[1]);
		assert_memory_equal(data[0], data[1], size[0]);
		free(data[0]);
		free(data[1]);
	}
}

static void expect_same_psbs(struct ptl_trace *a, struct ptl_trace *b, uint32_t stream)
{
	const struct ptl_psb *psbs[2];
	size_t count[2];

	assert_int_equal(ptl_psb_index(a, stream, &psbs[0], &count[0]), 0);
	assert_int_equal(ptl_psb_index(b, stream, &psbs[1], &count[1]), 0);
	assert_int_equal(count[0], 20);
	assert_int_equal(count[1], 20);
	assert_memory_equal(psbs[0], psbs[1], count[0] * sizeof(*psbs[0]));
}

static uint32_t stream_of(struct ptl_trace *trace, uint32_t kind)
{
	for (size_t i = 0; i < ptl_stream_count(trace); i++)
		if (ptl_stream_at(trace, i)->kind == kind)
			return ptl_stream_at(trace, i)->id;
	fail();
	return 0;
}

static void keeps_everything(void **state)
{
	int fds[2] = {new_file(), new_file()};
	struct ptl_trace *a;
	struct ptl_trace *b;

	(void)state;
	write_trace(fds[0]);
	a = open_trace(fds[0]);
	assert_int_equal(copy(a, fds[1]), 0);
	b = open_trace(fds[1]);
	assert_true(ptl_trace_complete(b));
	assert_int_equal(damages_but_unknown_kinds(b), 0);
	expect_same_buffers(a, b);
	expect_same_psbs(a, b, stream_of(a, PTL_KIND_PT));
	assert_int_equal(ptl_stream_find(a, stream_of(a, PTL_KIND_PT))->bytes,
			 ptl_stream_find(b, stream_of(b, PTL_KIND_PT))->bytes);
	assert_int_equal(stream_of(a, UNKNOWN_KIND), stream_of(b, UNKNOWN_KIND));
	assert_int_equal(ptl_blob_count(b), 1);
	assert_memory_equal(ptl_blob_at(a, 0)->hash, ptl_blob_at(b, 0)->hash, PTL_HASH_SIZE);
	assert_int_equal(ptl_loss_count(b), 1);
	assert_string_equal(ptl_loss_at(b, 0)->cause, "gone");
	assert_int_equal(ptl_provenance_count(b), ptl_provenance_count(a) + 1);
	assert_int_equal(ptl_trace_machine(b)->model, 78);
	ptl_close(a);
	ptl_close(b);
	close(fds[0]);
	close(fds[1]);
}

/* A damaged PT buffer becomes a hole: later bytes keep their position. */
static void leaves_out_what_is_damaged(void **state)
{
	int fds[2] = {new_file(), new_file()};
	struct ptl_trace *a;
	struct ptl_trace *b;
	uint32_t pt;
	uint8_t bytes[2][PIECE];
	uint64_t hole;
	size_t got;

	(void)state;
	write_trace(fds[0]);
	a = open_trace(fds[0]);
	pt = stream_of(a, PTL_KIND_PT);
	for (size_t i = 0; i < ptl_buffer_count(a); i++) {
		const struct ptl_buffer *buffer = ptl_buffer_at(a, i);

		if (buffer->stream.id == pt && buffer->position == 10000)
			assert_int_equal(pwrite(fds[0], "\xff\xff\xff\xff", 4, (off_t)buffer->offset + 104 + 500), 4);
	}
	assert_int_equal(copy(a, fds[1]), 1);
	assert_int_equal(damages_but_unknown_kinds(a), 1);
	b = open_trace(fds[1]);
	assert_int_equal(damages_but_unknown_kinds(b), 0);
	assert_int_equal(ptl_stream_read(b, pt, 10000, bytes[0], PIECE, &got, &hole), 0);
	assert_int_equal(got, 0);
	assert_int_equal(hole, 5000);
	fill(bytes[1], PIECE, 3);
	memcpy(bytes[1], psb, sizeof(psb));
	assert_int_equal(ptl_stream_read(b, pt, 15000, bytes[0], PIECE, &got, &hole), 0);
	assert_int_equal(got, PIECE);
	assert_memory_equal(bytes[0], bytes[1], PIECE);
	ptl_close(a);
	ptl_close(b);
	close(fds[0]);
	close(fds[1]);
}

static void refuses_an_id_that_is_taken(void **state)
{
	int fds[2] = {new_file(), new_file()};
	struct ptl_writer *writer = new_writer(fds[1]);
	uint32_t own = declare(writer, PTL_KIND_TRUTH, 55);
	struct ptl_trace *a;
	int status = 0;

	(void)state;
	write_trace(fds[0]);
	a = open_trace(fds[0]);
	assert_int_equal(ptl_writer_bytes(writer, own, "x", 1, 1), 0);
	for (size_t i = 0; i < ptl_buffer_count(a) && !status; i++)
		status = ptl_writer_copy(writer, a, i);
	assert_int_equal(status, PTL_MISUSE);
	assert_int_equal(ptl_writer_copy(writer, a, ptl_buffer_count(a)), PTL_MISUSE);
	ptl_writer_abandon(writer);
	ptl_close(a);
	close(fds[0]);
	close(fds[1]);
}

/* Copies the buffers of PT streams with other stream ids into a file without an index. */
static void rewrite_ids(int from, int to, struct ptl_trace *trace, const uint32_t ids[2])
{
	uint8_t bytes[2 * PIECE];

	assert_int_equal(pread(from, bytes, 64, 0), 64);
	assert_int_equal(pwrite(to, bytes, 64, 0), 64);
	for (size_t i = 0, at = 64; i < ptl_buffer_count(trace); i++) {
		const struct ptl_buffer *buffer = ptl_buffer_at(trace, i);
		const size_t size = 104 + buffer->stored_size;

		if (buffer->stream.kind != PTL_KIND_PT)
			continue;
		assert_true(size <= sizeof(bytes));
		assert_int_equal(pread(from, bytes, size, (off_t)buffer->offset), (ssize_t)size);
		common_store32(bytes + 12, buffer->stream.id == ids[0] ? 1 : 2);
		common_store64(bytes + 96, format_checksum(bytes, 96));
		assert_int_equal(pwrite(to, bytes, size, (off_t)at), (ssize_t)size);
		at += size;
	}
}

/* A trace whose streams use the ids of the writer's own streams: blobs and index get other ids. */
static void own_streams_give_way(void **state)
{
	const int from = new_file(), middle = new_file(), to = new_file();
	struct ptl_writer *writer = new_writer(from);
	struct ptl_trace *trace, *copy;
	uint8_t hash[PTL_HASH_SIZE], data[PIECE], *all;
	uint32_t ids[2];
	size_t size;

	(void)state;
	fill(data, sizeof(data), 5);
	for (unsigned i = 0; i < 2; i++) {
		ids[i] = declare(writer, PTL_KIND_PT, 10 + i);
		assert_int_equal(ptl_writer_bytes(writer, ids[i], data, sizeof(data), 1), 0);
	}
	assert_int_equal(ptl_writer_close(writer), 0);
	/* Ids 1 and 2 for both streams are in buffer headers, and the file is scanned. */
	assert_int_equal(ptl_open_fd(dup(from), "from", NULL, &trace), 0);
	rewrite_ids(from, middle, trace, ids);
	ptl_close(trace);
	assert_int_equal(ptl_open_fd(dup(middle), "middle", NULL, &trace), 0);
	assert_int_equal(ptl_stream_find(trace, 1)->kind, PTL_KIND_PT);
	assert_int_equal(ptl_stream_find(trace, 2)->kind, PTL_KIND_PT);
	writer = new_writer(to);
	for (size_t i = 0; i < ptl_buffer_count(trace); i++)
		assert_int_equal(ptl_writer_copy(writer, trace, i), 0);
	assert_int_equal(ptl_writer_blob(writer, PTL_BLOB_CODE, data, 100, hash), 0);
	assert_int_equal(ptl_writer_close(writer), 0);
	assert_int_equal(ptl_open_fd(dup(to), "to", NULL, &copy), 0);
	assert_true(ptl_trace_complete(copy));
	assert_int_equal(ptl_damage_count(copy), 0);
	for (uint32_t id = 1; id < 3; id++) {
		assert_int_equal(ptl_stream_find(copy, id)->kind, PTL_KIND_PT);
		assert_int_equal(ptl_stream_find(copy, id)->bytes, PIECE);
	}
	assert_int_equal(ptl_blob_read(copy, hash, 1000, &all, &size), 0);
	assert_int_equal(size, 100);
	free(all);
	ptl_close(copy);
	ptl_close(trace);
	close(from);
	close(middle);
	close(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_everything),
		cmocka_unit_test(leaves_out_what_is_damaged),
		cmocka_unit_test(refuses_an_id_that_is_taken),
		cmocka_unit_test(own_streams_give_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
