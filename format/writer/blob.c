/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blobs of the file, and blobs from parts of other files. A part is read twice: first for its hash, which each chunk
 * contains, then for writing.
 */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/file.h"
#include "common/sha256.h"
#include "common/vector.h"
#include "format/writer/blob_file.h"
#include "format/writer/repeat.h"
#include "format/writer/stream.h"
#include "format/writer/writer_internal.h"

#define PIECE_SIZE ((size_t)256 << 10)

static int write_chunk(struct ptl_writer *writer, const struct format_chunk *chunk, const uint8_t *data)
{
	struct ptl_writer_stream *stream = writer->streams[FORMAT_BLOB_STREAM];

	if (!common_vector_room(&stream->chunks, stream->chunk_count, sizeof(*chunk)))
		return common_fail_memory("blob chunks", stream->chunk_count * sizeof(*chunk));
	if (chunk->length) {
		common_write_bytes(&stream->raw, data, chunk->length);
		if (stream->raw.failed) {
			stream->raw.failed = false;
			return common_fail_memory("a buffer", writer->buffer_size);
		}
	}
	stream->chunks[stream->chunk_count++] = *chunk;
	writer->raw_bytes += chunk->length;
	return format_stream_added(writer, stream);
}

int ptl_writer_blob(struct ptl_writer *writer, uint32_t type, const void *data, size_t size,
		    uint8_t hash[PTL_HASH_SIZE])
{
	struct ptl_writer_stream *stream = writer->streams[FORMAT_BLOB_STREAM];
	struct format_chunk chunk = {.type = type, .blob_size = size};
	int status;

	common_sha256_of(data, size, hash);
	if (format_writer_has_blob(writer, hash))
		return format_writer_settle(writer, 0);
	memcpy(chunk.hash, hash, PTL_HASH_SIZE);
	status = format_writer_note_blob(writer, hash, true);
	/* A chunk must lie in one buffer, so it ends where the buffer is full. */
	do {
		const size_t room = writer->buffer_size - stream->raw.size;

		if (status)
			return status;
		chunk.length = size - chunk.offset < room ? size - chunk.offset : room;
		status = write_chunk(writer, &chunk, (const uint8_t *)data + chunk.offset);
		chunk.offset += chunk.length;
	} while (chunk.offset < size);
	return format_writer_settle(writer, status);
}

int format_writer_chunk(struct ptl_writer *writer, const struct format_chunk *chunk, const uint8_t *data)
{
	int status = format_writer_note_blob(writer, chunk->hash, true);

	if (!status)
		status = write_chunk(writer, chunk, data);
	return format_writer_settle(writer, status);
}

/* A part of a file. */
struct part {
	int fd;
	uint64_t offset, size;
	const atomic_bool *cancelled; /* NULL: cannot be cancelled */
};

/* Reads a part and computes its hash. With a chunk, also writes the bytes. */
static int read_through(struct ptl_writer *writer, const struct part *part, struct format_chunk *chunk,
			uint8_t hash[PTL_HASH_SIZE])
{
	struct common_sha256 *sum = common_sha256_new();
	uint8_t *data = malloc(PIECE_SIZE);
	int status = sum && data ? 0 : common_fail_memory("a piece of a file", PIECE_SIZE);

	for (uint64_t at = 0; !status && at < part->size; at += PIECE_SIZE) {
		const size_t n = part->size - at < PIECE_SIZE ? (size_t)(part->size - at) : PIECE_SIZE;

		if (part->cancelled && atomic_load_explicit(part->cancelled, memory_order_relaxed))
			status = common_fail(PTL_CANCELLED, "cancelled");
		else
			status = common_read_at(part->fd, data, n, part->offset + at);
		if (status)
			break;
		common_sha256_add(sum, data, n);
		if (!chunk)
			continue;
		chunk->offset = at;
		chunk->length = n;
		status = format_writer_chunk(writer, chunk, data);
	}
	if (!status)
		common_sha256_finish(sum, hash);
	common_sha256_free(sum);
	free(data);
	return status;
}

int ptl_writer_blob_file(struct ptl_writer *writer, uint32_t type, int fd, uint64_t offset, uint64_t size,
			 uint8_t hash[PTL_HASH_SIZE])
{
	return format_writer_blob_file(writer, type, fd, offset, size, NULL, hash);
}

int format_writer_blob_file(struct ptl_writer *writer, uint32_t type, int fd, uint64_t offset, uint64_t size,
			    const atomic_bool *cancelled, uint8_t hash[PTL_HASH_SIZE])
{
	const struct part part = {fd, offset, size, cancelled};
	struct format_chunk chunk = {.type = type, .blob_size = size};
	uint8_t again[PTL_HASH_SIZE];
	int status;

	if (!size)
		return ptl_writer_blob(writer, type, "", 0, hash);
	if (offset > UINT64_MAX - size)
		return common_fail(PTL_TRUNCATED, "the file has no bytes at offset %llu", (unsigned long long)offset);
	status = read_through(writer, &part, NULL, hash);
	if (status || format_writer_has_blob(writer, hash))
		return status;
	memcpy(chunk.hash, hash, PTL_HASH_SIZE);
	status = read_through(writer, &part, &chunk, again);
	if (!status && memcmp(hash, again, PTL_HASH_SIZE) != 0)
		status = common_fail(PTL_CORRUPT, "the file was changed while it was read");
	return status;
}

int format_writer_repeat_blob(struct ptl_writer *writer, struct ptl_trace *before, const uint8_t hash[PTL_HASH_SIZE])
{
	const struct ptl_blob_info *info = format_writer_has_blob(writer, hash) ? NULL : ptl_blob_find(before, hash);
	uint8_t own[PTL_HASH_SIZE];
	uint8_t *data;
	size_t size;
	int status;

	if (!info)
		return 0;
	status = ptl_blob_read(before, hash, SIZE_MAX, &data, &size);
	if (status < 0)
		return status == PTL_NO_MEMORY ? status : 0;
	status = ptl_writer_blob(writer, info->type, data, size, own);
	free(data);
	return status;
}
