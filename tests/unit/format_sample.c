/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by unit tests of the container: a file in memory with a small trace, and a reader of everything in the trace.
 */
#include "tests/unit/format_sample.h"

int sample_fd(void)
{
	const int fd = memfd_create("sample", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

struct ptl_bytes sample_bytes(int fd)
{
	struct ptl_bytes bytes = {0};
	const off_t size = lseek(fd, 0, SEEK_END);
	uint8_t *data = common_bytes_grow(&bytes, (size_t)size);

	assert_true(pread(fd, data, (size_t)size, 0) == size);
	return bytes;
}

struct ptl_writer *sample_writer(int fd, const struct ptl_writer_options *options)
{
	struct ptl_writer *writer = NULL;

	assert_done(ptl_writer_open(dup(fd), options, &writer));
	return writer;
}

uint32_t sample_stream(struct ptl_writer *writer, uint32_t kind, uint32_t tid)
{
	struct ptl_stream stream = {.kind = kind, .cpu = PTL_NO_CPU, .pid = 1, .tid = tid};

	assert_done(ptl_writer_stream(writer, &stream));
	return stream.id;
}

void sample_event(struct ptl_writer *writer, uint32_t stream, uint64_t time, const char *name)
{
	const struct ptl_thread_event thread = {.process_id = 1, .thread_id = (uint32_t)time, .name = name};
	struct ptl_event event = {.time = time, .cpu = 0, .pid = 1, .tid = (uint32_t)time};
	struct ptl_bytes storage = {0};

	assert_done(ptl_thread_encode(&thread, PTL_OPCODE_START, &storage, &event));
	assert_done(ptl_writer_event(writer, stream, &event));
	common_bytes_free(&storage);
}

struct ptl_trace *sample_open(int fd, bool ignore_index)
{
	const struct ptl_open_options options = {.size = sizeof(options), .ignore_index = ignore_index};
	const int copy = dup(fd);
	struct ptl_trace *trace = NULL;

	assert_done(ptl_open_fd(copy, "sample", &options, &trace));
	return trace;
}

/* ---- all of a trace as one hash ------------------------------------------------------------------- */

int sample_add_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct sample_content *content = context;

	(void)trace;
	content->events++;
	common_sha256_add(content->hash, &event->time, sizeof(event->time));
	common_sha256_add(content->hash, &event->tid, sizeof(event->tid));
	common_sha256_add(content->hash, &event->flags, sizeof(event->flags));
	common_sha256_add(content->hash, event->payload, event->payload_size);
	return 0;
}

static void sample_add_stream(struct ptl_trace *trace, const struct ptl_stream *stream, struct common_sha256 *hash)
{
	const struct ptl_psb *psbs;
	uint64_t at = 0, hole;
	uint8_t data[333];
	size_t got, count;

	common_sha256_add(hash, &stream->kind, sizeof(stream->kind));
	common_sha256_add(hash, &stream->tid, sizeof(stream->tid));
	if (stream->kind != PTL_KIND_PT)
		return;
	do {
		assert_done(ptl_stream_read(trace, stream->id, at, data, sizeof(data), &got, &hole));
		common_sha256_add(hash, data, got);
		common_sha256_add(hash, &hole, sizeof(hole));
		at += got + hole;
	} while (got || hole);
	assert_done(ptl_psb_index(trace, stream->id, &psbs, &count));
	if (count)
		common_sha256_add(hash, psbs, count * sizeof(*psbs));
}

uint64_t sample_content(struct ptl_trace *trace, uint8_t digest[COMMON_SHA256_SIZE])
{
	struct sample_content content = {.hash = common_sha256_new()};
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = sample_add_event};
	uint8_t *data;
	size_t size;

	assert_non_null(content.hash);
	common_sha256_add(content.hash, ptl_trace_machine(trace), sizeof(struct ptl_machine));
	assert_done(ptl_process(trace, NULL, &callbacks, &content));
	for (size_t i = 0; i < ptl_stream_count(trace); i++)
		sample_add_stream(trace, ptl_stream_at(trace, i), content.hash);
	for (size_t i = 0; i < ptl_blob_count(trace); i++) {
		if (ptl_blob_read(trace, ptl_blob_at(trace, i)->hash, 1 << 20, &data, &size))
			continue;
		common_sha256_add(content.hash, data, size);
		free(data);
	}
	for (size_t i = 0; i < ptl_schema_count(trace); i++)
		common_sha256_add(content.hash, &ptl_schema_at(trace, i)->opcode, 1);
	for (size_t i = 0; i < ptl_loss_count(trace); i++)
		common_sha256_add(content.hash, ptl_loss_at(trace, i)->cause, strlen(ptl_loss_at(trace, i)->cause));
	for (size_t i = 0; i < ptl_provenance_count(trace); i++)
		common_sha256_add(content.hash, ptl_provenance_at(trace, i)->command,
				  strlen(ptl_provenance_at(trace, i)->command));
	/* Reads the remaining buffers, too. */
	for (size_t i = 0; i < ptl_buffer_count(trace); i++)
		if (ptl_buffer_read(trace, i, &data, &size) == 0)
			free(data);
	common_sha256_finish(content.hash, digest);
	common_sha256_free(content.hash);
	return content.events;
}

void sample_write(int fd, bool close)
{
	static const uint8_t psb[16] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
	const struct ptl_machine machine = {.source = "qemu", .software = true, .clock = PTL_CLOCK_MONOTONIC};
	const struct ptl_provenance provenance = {.tool = "test", .version = "1", .command = "test me"};
	const struct ptl_loss loss = {.kind = PTL_LOSS_CODE, .stream = PTL_NO_ID, .pid = 1, .cause = "none"};
	const struct ptl_schema *const *schemas;
	struct ptl_writer *writer = sample_writer(fd, NULL);
	uint8_t hash[PTL_HASH_SIZE];
	uint32_t events, pt;
	size_t count;

	assert_done(ptl_writer_machine(writer, &machine));
	schemas = ptl_kernel_schemas(&count);
	assert_done(ptl_writer_schema(writer, schemas[5]));
	events = sample_stream(writer, PTL_KIND_EVENTS, PTL_NO_ID);
	pt = sample_stream(writer, PTL_KIND_PT, 1);
	for (uint64_t part = 0; part < 3; part++) {
		for (uint64_t i = 0; i < 5; i++)
			sample_event(writer, events, 100 + part * 10 + i, "a thread");
		assert_done(ptl_writer_psb(writer, pt, part * 23, 100 + part));
		assert_done(ptl_writer_bytes(writer, pt, psb, sizeof(psb), 100 + part));
		assert_done(ptl_writer_bytes(writer, pt, "\1\2\3\4\5\6\7", 7, 101 + part));
		assert_done(ptl_writer_flush(writer));
	}
	assert_done(ptl_writer_hole(writer, pt, 50, 200));
	assert_done(ptl_writer_bytes(writer, pt, "after it", 8, 201));
	assert_done(ptl_writer_blob(writer, PTL_BLOB_CODE, "\x90\x90\xc3", 3, hash));
	assert_done(ptl_writer_loss(writer, &loss));
	assert_done(ptl_writer_provenance(writer, &provenance));
	assert_done(ptl_writer_flush(writer));
	if (close)
		assert_done(ptl_writer_close(writer));
	else
		ptl_writer_abandon(writer);
}
