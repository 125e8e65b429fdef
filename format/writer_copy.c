/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies buffers of another trace as they lie there: what is in them need not be understood. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/file.h"
#include "format/reader_internal.h"
#include "format/vector.h"
#include "format/writer_internal.h"
#include "format/writer_stream.h"

/* Positions have a meaning in the streams whose payload is one sequence of bytes. */
static bool has_positions(uint32_t kind)
{
	return kind != PTL_KIND_METADATA && kind != PTL_KIND_EVENTS && kind != PTL_KIND_BLOB;
}

static bool is_same(const struct ptl_stream *a, const struct ptl_stream *b)
{
	return a->kind == b->kind && a->cpu == b->cpu && a->pid == b->pid && a->tid == b->tid;
}

/* A stream beside those that the writer numbers itself. */
static int add_stream(struct ptl_writer *writer, const struct ptl_stream *identity,
		      struct ptl_writer_stream **result)
{
	struct ptl_writer_stream *stream = calloc(1, sizeof(*stream));

	if (!stream ||
	    !ptl_vector_room(&writer->copied, writer->copied_count, sizeof(*writer->copied)) ||
	    ptl_hash_map_put(&writer->copied_map, identity->id, writer->copied_count)) {
		free(stream);
		return ptl_fail_memory("a stream", sizeof(*stream));
	}
	stream->stream = *identity;
	writer->copied[writer->copied_count++] = stream;
	*result = stream;
	return 0;
}

/* The stream that buffers of this identity go to. */
static int find_stream(struct ptl_writer *writer, const struct ptl_stream *identity,
		       struct ptl_writer_stream **result)
{
	const uint64_t *known = ptl_hash_map_get(&writer->copied_map, identity->id);
	struct ptl_writer_stream *stream = NULL;

	if (known)
		stream = writer->copied[*known];
	else if (identity->id < writer->stream_count)
		stream = writer->streams[identity->id];
	if (stream && is_same(&stream->stream, identity)) {
		*result = stream;
		return 0;
	}
	/* An own stream that nothing was written to gives way: its id is then not in the file. */
	if (stream && (known || stream->sequence || identity->id == PTL_METADATA_STREAM))
		return ptl_fail(PTL_MISUSE, "stream %" PRIu32 " is another one in this file",
				identity->id);
	return add_stream(writer, identity, result);
}

/* Reads header, side area and stored payload as they are, into job->file. */
static int read_buffer(struct ptl_trace *trace, const struct ptl_entry *entry, struct ptl_job *job)
{
	const size_t size = PTL_BUFFER_HEADER_SIZE + (size_t)entry->side_size +
			    entry->buffer.stored_size;
	uint8_t *data = ptl_bytes_grow(&job->file, size);

	if (!data)
		return ptl_fail_memory("a buffer", size);
	job->memory = size + sizeof(*job);
	return ptl_read_at(trace->fd, data, size, entry->buffer.offset);
}

/*
 * Whatever cannot be decompressed here may be in a newer reader, if its bytes are what was written.
 */
static int check_payload(struct ptl_trace *trace, struct ptl_entry *entry,
			 const struct ptl_job *job)
{
	const size_t head = PTL_BUFFER_HEADER_SIZE + (size_t)entry->side_size;
	int status = 0;

	if (entry->usable) {
		uint8_t *raw = malloc(entry->buffer.raw_size ? entry->buffer.raw_size : 1);

		status = raw ? ptl_payload_load(trace, entry, raw)
			     : ptl_fail_memory("a buffer", entry->buffer.raw_size);
		free(raw);
	} else if (ptl_checksum(job->file.data + head, entry->buffer.stored_size) !=
		   entry->checksum) {
		status = ptl_fail(PTL_CORRUPT, "payload checksum differs");
	}
	if (status == PTL_CORRUPT || status == PTL_TRUNCATED)
		ptl_damage_entry(trace, entry, status);
	return status;
}

/* Blobs that are in the file now are not stored again. A damaged side area is left out. */
static int take_side(struct ptl_writer *writer, const struct ptl_buffer_header *header,
		     struct ptl_job *job)
{
	struct ptl_side side;
	uint8_t *data = job->file.data + PTL_BUFFER_HEADER_SIZE;
	int status = ptl_side_decode(data, header->side_size, header->kind, header->position,
				     header->first_time, header->raw_size, false, 0, &side);

	if (status == PTL_CORRUPT) {
		memmove(data, data + header->side_size, header->stored_size);
		job->file.size -= header->side_size;
		job->header.side_size = 0;
		return 0;
	}
	for (size_t i = 0; !status && i < side.chunk_count; i++)
		status = ptl_byte_map_put(&writer->blobs, side.chunks[i].hash, PTL_HASH_SIZE, 1);
	ptl_side_free(&side);
	return status;
}

/* Gives the buffer its place in the stream and in this file. */
static int place(struct ptl_writer *writer, struct ptl_writer_stream *stream, struct ptl_job *job)
{
	struct ptl_buffer_header *header = &job->header;

	if (!has_positions(header->kind))
		header->position = stream->position;
	else if (header->position < stream->position)
		return ptl_fail(PTL_MISUSE, "stream %" PRIu32 ": the position goes back",
				header->stream);
	header->sequence = stream->sequence++;
	header->file_id = writer->queue.output.file_id;
	stream->position = stream->end = header->position + header->raw_size;
	ptl_buffer_header_encode(header, job->file.data);
	writer->raw_bytes += header->raw_size;
	if (header->kind == PTL_KIND_METADATA)
		writer->metadata_bytes += header->raw_size;
	return 0;
}

static int copy(struct ptl_writer *writer, struct ptl_trace *trace, struct ptl_entry *entry,
		struct ptl_job *job)
{
	struct ptl_writer_stream *stream = NULL;
	int status = read_buffer(trace, entry, job);

	if (!status)
		status = check_payload(trace, entry, job);
	if (status)
		return status;
	if (!ptl_buffer_header_decode(job->file.data, &job->header))
		return ptl_fail(PTL_CORRUPT, "the header of a buffer has changed");
	status = take_side(writer, &job->header, job);
	if (!status)
		status = ptl_streams_submit(writer,
					    UINT64_MAX); /* what came before it stays before it */
	if (status)
		return status;
	status = find_stream(writer, &entry->buffer.stream, &stream);
	return status ? status : place(writer, stream, job);
}

int ptl_writer_copy(struct ptl_writer *writer, struct ptl_trace *trace, size_t i)
{
	struct ptl_job *job;
	int status;

	if (i >= trace->entry_count)
		return ptl_fail(PTL_MISUSE, "the trace has no buffer %zu", i);
	job = calloc(1, sizeof(*job));
	if (!job)
		return ptl_fail_memory("a buffer", sizeof(*job));
	status = copy(writer, trace, &trace->entries[i], job);
	if (status) {
		ptl_job_free(job);
		return status;
	}
	ptl_queue_submit(&writer->queue, job);
	return 0;
}
