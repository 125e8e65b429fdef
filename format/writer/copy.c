/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies buffers of another trace as stored in its file, without interpreting their content. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/file.h"
#include "format/reader/parts.h"
#include "common/vector.h"
#include "format/writer/writer_internal.h"
#include "format/writer/stream.h"

/* Whether positions matter for a kind: its payload is one sequence of bytes. */
static bool has_positions(uint32_t kind)
{
	return kind != PTL_KIND_METADATA && kind != PTL_KIND_EVENTS && kind != PTL_KIND_BLOB;
}

static bool is_same_stream(const struct ptl_stream *a, const struct ptl_stream *b)
{
	return a->kind == b->kind && a->cpu == b->cpu && a->pid == b->pid && a->tid == b->tid;
}

/* Adds a stream with a foreign id, besides the streams that the writer numbers itself. */
static int add_stream(struct ptl_writer *writer, const struct ptl_stream *identity, struct ptl_writer_stream **result)
{
	struct ptl_writer_stream *stream = calloc(1, sizeof(*stream));

	if (!stream || !common_vector_room(&writer->copied, writer->copied_count, sizeof(*writer->copied)) ||
	    common_hash_map_put(&writer->copied_map, identity->id, writer->copied_count)) {
		free(stream);
		return common_fail_memory("a stream", sizeof(*stream));
	}
	stream->stream = *identity;
	writer->copied[writer->copied_count++] = stream;
	*result = stream;
	return 0;
}

/* Gives an unused stream of the writer's own another id. */
static void move_stream(struct ptl_writer *writer, struct ptl_writer_stream *stream)
{
	stream->stream.id = format_writer_spare_id(writer);
}

/* Finds the stream for buffers of this identity, or adds it. */
static int find_stream(struct ptl_writer *writer, const struct ptl_stream *identity, struct ptl_writer_stream **result)
{
	const uint64_t *known = common_hash_map_get(&writer->copied_map, identity->id);
	struct ptl_writer_stream *stream = NULL;
	int status;

	if (known)
		stream = writer->copied[*known];
	else if (identity->id < writer->stream_count)
		stream = writer->streams[identity->id];
	if (!known && writer->streams[FORMAT_BLOB_STREAM]->stream.id == identity->id)
		stream = writer->streams[FORMAT_BLOB_STREAM];
	else if (stream && stream->stream.id != identity->id)
		stream = NULL; /* the stream was moved to another id */
	if (stream && is_same_stream(&stream->stream, identity)) {
		*result = stream;
		return 0;
	}
	if (stream && (known || stream->sequence || identity->id == FORMAT_METADATA_STREAM))
		return common_fail(PTL_MISUSE, "stream %" PRIu32 " is another one in this file", identity->id);
	status = add_stream(writer, identity, result);
	/* The index stream gets its number when it is written. A stream of the caller keeps its id, unused. */
	if (!status && stream == writer->streams[FORMAT_BLOB_STREAM])
		move_stream(writer, stream);
	return status;
}

/* Reads header, side area and stored payload unchanged into job->file. */
static int read_buffer(struct ptl_trace *trace, const struct format_entry *entry, struct format_job *job)
{
	const size_t size = FORMAT_BUFFER_HEADER_SIZE + (size_t)entry->side_size + entry->buffer.stored_size;
	uint8_t *data = common_bytes_grow(&job->file, size);

	if (!data)
		return common_fail_memory("a buffer", size);
	job->memory = size + sizeof(*job);
	return format_trace_read(trace, data, size, entry->buffer.offset);
}

/* Checks a compressed payload. Frames without their content size are decompressed for the check. */
static int check_frame(struct ptl_trace *trace, const struct format_entry *entry, const uint8_t *payload)
{
	const struct ptl_buffer *buffer = &entry->buffer;
	bool known;
	uint8_t *raw;
	int status = format_frame_check(payload, buffer->stored_size, buffer->raw_size, &known);

	if (status || known)
		return status;
	raw = malloc(buffer->raw_size ? buffer->raw_size : 1);
	if (!raw)
		return common_fail_memory("a buffer", buffer->raw_size);
	status = format_payload_load(trace, entry, raw);
	free(raw);
	return status;
}

/*
 * Checks a payload: its size limit, its checksum, and its frames. The content is neither interpreted nor, if it states
 * its size, decompressed.
 */
static int check_payload(struct ptl_trace *trace, struct format_entry *entry, const struct format_job *job)
{
	const size_t head = FORMAT_BUFFER_HEADER_SIZE + (size_t)entry->side_size;

	int status = format_expansion_check(trace, entry);

	if (!status && format_checksum(job->file.data + head, entry->buffer.stored_size) != entry->checksum)
		status = common_fail(PTL_CORRUPT, "payload checksum differs");
	if (!status && entry->usable && entry->buffer.codec == FORMAT_CODEC_ZSTD)
		status = check_frame(trace, entry, job->file.data + head);
	return status ? format_damage_buffer(trace, entry, status) : 0;
}

/*
 * Sets the header from the reader's data, which may come from the index while the buffer's own header is damaged.
 * Fields that only a newer version knows are taken from the buffer's header.
 */
static int take_header(struct ptl_trace *trace, struct format_entry *entry, struct format_job *job)
{
	const struct ptl_buffer *buffer = &entry->buffer;
	struct format_buffer_header *header = &job->header;

	if (!format_buffer_header_decode(job->file.data, header) && !entry->usable)
		return format_damage_buffer(trace, entry, common_fail(PTL_CORRUPT, "its header is damaged"));
	*header = (struct format_buffer_header){
		.codec = buffer->codec,
		.flags = entry->usable ? 0 : header->flags,
		.reserved1 = entry->usable ? 0 : header->reserved1,
		.reserved2 = entry->usable ? 0 : header->reserved2,
		.kind = buffer->stream.kind,
		.stream = buffer->stream.id,
		.cpu = buffer->stream.cpu,
		.pid = buffer->stream.pid,
		.tid = buffer->stream.tid,
		.records = buffer->records,
		.side_size = entry->side_size,
		.raw_size = buffer->raw_size,
		.stored_size = buffer->stored_size,
		.sequence = buffer->sequence,
		.first_time = buffer->first_time,
		.last_time = buffer->last_time,
		.position = buffer->position,
		.payload_checksum = entry->checksum,
	};
	return 0;
}

/* Notes the blobs in a side area, which are now in the file. Drops a damaged side area. */
static int take_side(struct ptl_writer *writer, struct ptl_trace *trace, const struct format_entry *entry,
		     struct format_job *job)
{
	const struct format_buffer_header *header = &job->header;
	struct format_side side;
	uint8_t *data = job->file.data + FORMAT_BUFFER_HEADER_SIZE;
	int status = format_side_decode(data, header->side_size, header->kind, header->position, header->first_time,
					header->raw_size, false, 0, &side);

	if (status == PTL_CORRUPT) {
		/* The reader may have used the index's copy and thus not noticed the damage. */
		format_damage_add(trace, entry->buffer.offset, 0, PTL_CORRUPT, header->stream,
				  "stream %" PRIu32 ", sequence %" PRIu64 ": the side area is damaged", header->stream,
				  header->sequence);
		memmove(data, data + header->side_size, header->stored_size);
		job->file.size -= header->side_size;
		job->header.side_size = 0;
		return 0;
	}
	for (size_t i = 0; !status && i < side.chunk_count; i++)
		status = format_writer_note_blob(writer, side.chunks[i].hash, true);
	format_side_free(&side);
	return status;
}

/* ---- changes ------------------------------------------------------------------------------------------- */

/* Replaces the buffer's side area. */
static int replace_side(struct format_job *job, const struct ptl_bytes *side)
{
	const size_t before = job->header.side_size;
	const size_t payload = job->file.size - FORMAT_BUFFER_HEADER_SIZE - before;

	if (side->failed || side->size > FORMAT_SIDE_MAX)
		return common_fail(side->failed ? PTL_NO_MEMORY : PTL_MISUSE, "a side area of %zu bytes", side->size);
	if (side->size > before && !common_bytes_grow(&job->file, side->size - before))
		return common_fail_memory("a buffer", job->file.size);
	memmove(job->file.data + FORMAT_BUFFER_HEADER_SIZE + side->size,
		job->file.data + FORMAT_BUFFER_HEADER_SIZE + before, payload);
	if (side->size)
		memcpy(job->file.data + FORMAT_BUFFER_HEADER_SIZE, side->data, side->size);
	job->file.size = FORMAT_BUFFER_HEADER_SIZE + side->size + payload;
	job->header.side_size = (uint32_t)side->size;
	return 0;
}

/* Returns the PSBs of a copied buffer in side->psbs, with the copy's times and offsets. The caller frees *side. */
static int get_psbs(const struct format_job *job, const struct format_copy_change *change, struct format_side *side)
{
	const struct format_buffer_header *header = &job->header;
	int status = 0;

	*side = (struct format_side){0};
	if (!change->own_psbs) {
		status = format_side_decode(job->file.data + FORMAT_BUFFER_HEADER_SIZE, header->side_size, header->kind,
					    header->position, header->first_time, header->raw_size, false, 0, side);
	} else if (change->psb_count) {
		side->psbs = malloc(change->psb_count * sizeof(*side->psbs));
		if (!side->psbs)
			return common_fail_memory("PSBs", change->psb_count * sizeof(*side->psbs));
		memcpy(side->psbs, change->psbs, change->psb_count * sizeof(*side->psbs));
		side->psb_count = change->psb_count;
	}
	for (size_t i = 0; !status && i < side->psb_count; i++) {
		if (side->psbs[i].time)
			side->psbs[i].time += (uint64_t)change->time_shift;
		if (change->own_psbs)
			side->psbs[i].offset -= change->position_cut;
	}
	return status;
}

/* Replaces the PSBs in the side area. Other items are kept unchanged. */
static int write_psbs(struct format_job *job, const struct format_side *side, uint64_t first_time)
{
	const struct format_buffer_header *header = &job->header;
	struct common_cursor items = common_cursor(job->file.data + FORMAT_BUFFER_HEADER_SIZE,
						   header->side_size ? header->side_size - 8 : 0);
	struct ptl_bytes out = {0};
	int status;

	if (side->psb_count)
		format_side_psbs(&out, side->psbs, side->psb_count, header->position, first_time);
	while (common_cursor_left(&items) && !items.failed) {
		const size_t start = items.at;
		const uint64_t type = common_read_varint(&items);

		common_read_bytes(&items, common_read_varint(&items));
		if (type != FORMAT_SIDE_PSBS && !items.failed)
			common_write_bytes(&out, items.data + start, items.at - start);
	}
	if (out.size)
		format_side_finish(&out, 0);
	status = replace_side(job, &out);
	common_bytes_free(&out);
	return status;
}

/*
 * Updates the PSBs. Times in a side area are relative to the header's first time, so a shift affects only unknown
 * times, which stay 0.
 */
static int change_psbs(struct format_job *job, const struct format_copy_change *change, uint64_t first_time)
{
	struct format_side side;
	int status;

	if (!change->own_psbs && (!change->time_shift || !job->header.side_size))
		return 0;
	status = get_psbs(job, change, &side);
	if (!status)
		status = write_psbs(job, &side, first_time);
	format_side_free(&side);
	return status;
}

static int change_buffer(struct format_job *job, const struct format_copy_change *change)
{
	struct format_buffer_header *header = &job->header;
	uint64_t first_time = header->first_time;
	int status = 0;

	if (has_positions(header->kind)) {
		header->position -= change->position_cut;
		if (header->position > (uint64_t)INT64_MAX - header->raw_size)
			return common_fail(PTL_MISUSE, "a buffer lies before its stream's start");
	}
	if (header->last_time)
		first_time += (uint64_t)change->time_shift;
	if (header->kind == PTL_KIND_PT)
		status = change_psbs(job, change, first_time);
	if (header->last_time)
		header->last_time += (uint64_t)change->time_shift;
	header->first_time = first_time;
	return status;
}

/* Finds the writer's stream named by the change, and copies its identity to the header. */
static int find_target(struct ptl_writer *writer, const struct ptl_stream *source, uint32_t id,
		       struct format_buffer_header *header, struct ptl_writer_stream **result)
{
	struct ptl_writer_stream *stream;
	int status;

	if (source->kind == PTL_KIND_BLOB)
		id = FORMAT_BLOB_STREAM;
	if (id >= writer->stream_count || writer->streams[id]->taken ||
	    writer->streams[id]->stream.kind != source->kind || source->kind == PTL_KIND_METADATA)
		return common_fail(PTL_MISUSE, "stream %" PRIu32 " was not declared for kind %" PRIu32, id,
				   source->kind);
	stream = writer->streams[id];
	status = format_stream_submit(writer, stream); /* keeps the order of earlier data */
	header->stream = stream->stream.id;
	header->cpu = stream->stream.cpu;
	header->pid = stream->stream.pid;
	header->tid = stream->stream.tid;
	*result = stream;
	return status;
}

/* Assigns the buffer its place in the stream and in this file. */
static int place_buffer(struct ptl_writer *writer, struct ptl_writer_stream *stream, struct format_job *job)
{
	struct format_buffer_header *header = &job->header;

	if (!has_positions(header->kind))
		header->position = stream->position;
	else if (header->position < stream->position)
		return common_fail(PTL_MISUSE, "stream %" PRIu32 ": the position goes back", header->stream);
	header->sequence = stream->sequence++;
	header->file_id = writer->queue.output.file_id;
	stream->position = stream->end = header->position + header->raw_size;
	format_buffer_header_encode(header, job->file.data);
	writer->raw_bytes += header->raw_size;
	if (header->kind == PTL_KIND_METADATA)
		writer->metadata_bytes += header->raw_size;
	return 0;
}

/* Decompresses the payload for recompression. A payload that this version cannot decode stays unchanged. */
static int take_payload(struct ptl_trace *trace, struct format_entry *entry, struct format_job *job)
{
	const size_t size = entry->buffer.raw_size;
	uint8_t *raw;
	int status;

	if (!entry->usable)
		return 0;
	raw = common_bytes_grow(&job->raw, size ? size : 1);
	if (!raw)
		return common_fail_memory("a buffer", size);
	job->raw.size = size;
	status = format_payload_load(trace, entry, raw);
	if (status)
		status = format_damage_buffer(trace, entry, status);
	job->again = true;
	job->file.size = FORMAT_BUFFER_HEADER_SIZE + (size_t)job->header.side_size;
	job->memory += 2 * size;
	return status;
}

static int copy_entry(struct ptl_writer *writer, struct ptl_trace *trace, struct format_entry *entry,
		      const struct format_copy_change *change, struct format_job *job)
{
	const struct ptl_stream identity = {
		.id = entry->buffer.stream.id,
		.kind = entry->buffer.stream.kind,
		.cpu = entry->buffer.stream.cpu,
		.pid = entry->buffer.stream.pid,
		.tid = entry->buffer.stream.tid,
	};
	struct ptl_writer_stream *stream = NULL;
	int status;

	/* A buffer that this version knows to be invalid, which the damage list has, is not copied. */
	if (!entry->usable && entry->buffer.codec <= FORMAT_CODEC_ZSTD && !format_trace_is_newer(trace))
		return common_fail(PTL_CORRUPT, "reserved fields of a buffer are not 0");
	format_queue_reuse(&writer->queue, &job->file);
	status = read_buffer(trace, entry, job);
	if (!status && change && change->look)
		status = change->look(change->look_context, entry->buffer.offset, job->file.data, job->file.size);
	if (!status)
		status = check_payload(trace, entry, job);
	if (status)
		return status;
	status = take_header(trace, entry, job);
	if (!status)
		status = take_side(writer, trace, entry, job);
	if (!status && change)
		status = change_buffer(job, change);
	if (!status && change && change->recompress)
		status = take_payload(trace, entry, job);
	if (!status && !change)
		status = format_streams_submit(writer, UINT64_MAX); /* keeps the order of earlier data */
	if (!status)
		status = change ? find_target(writer, &identity, change->stream, &job->header, &stream)
				: find_stream(writer, &identity, &stream);
	return status ? status : place_buffer(writer, stream, job);
}

static int copy_buffer(struct ptl_writer *writer, struct ptl_trace *trace, size_t i,
		       const struct format_copy_change *change)
{
	struct format_entry *entry = format_trace_entry(trace, i);
	struct format_job *job;
	int status;

	if (!entry)
		return common_fail(PTL_MISUSE, "the trace has no buffer %zu", i);
	job = calloc(1, sizeof(*job));
	if (!job)
		return common_fail_memory("a buffer", sizeof(*job));
	status = copy_entry(writer, trace, entry, change, job);
	if (status) {
		format_job_free(job);
		return status;
	}
	format_queue_submit(&writer->queue, job);
	return 0;
}

int ptl_writer_copy(struct ptl_writer *writer, struct ptl_trace *trace, size_t i)
{
	return copy_buffer(writer, trace, i, NULL);
}

int ptl_writer_copy_to(struct ptl_writer *writer, struct ptl_trace *trace, size_t i, uint32_t stream)
{
	return copy_buffer(writer, trace, i, &(struct format_copy_change){.stream = stream});
}

int format_writer_copy_changed(struct ptl_writer *writer, struct ptl_trace *trace, size_t i,
			       const struct format_copy_change *change)
{
	return copy_buffer(writer, trace, i, change);
}
