/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds each buffer found by scanning or in the index to its stream. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/error.h"
#include "format/reader/reader_internal.h"
#include "common/vector.h"

/* Bytes counted for a stream, including its place in the map and in tables of the relogger and of merges. */
#define STREAM_BYTES (sizeof(struct format_reader_stream) + 128)
/* Bytes counted for a buffer, and for a blob. */
#define ENTRY_BYTES (sizeof(struct format_entry) + 10)
#define BLOB_BYTES (sizeof(struct format_blob) + 12)

struct format_reader_stream *format_register_stream(struct ptl_trace *trace, const struct ptl_stream *stream,
						    bool *made)
{
	const uint64_t *known = common_hash_map_get(&trace->stream_map, stream->id);
	struct format_reader_stream *result;

	*made = false;
	if (known)
		return &trace->streams[*known];
	if (common_memory_budget_take(&trace->memory_budget, STREAM_BYTES, "streams", trace->stream_count + 1))
		return NULL;
	if (!common_vector_room(&trace->streams, trace->stream_count, sizeof(*trace->streams)) ||
	    common_hash_map_put(&trace->stream_map, stream->id, trace->stream_count) < 0) {
		common_fail_memory("streams", trace->stream_count * sizeof(*trace->streams));
		return NULL;
	}
	result = &trace->streams[trace->stream_count++];
	*result = (struct format_reader_stream){.stream = {.id = stream->id,
							   .kind = stream->kind,
							   .cpu = stream->cpu,
							   .pid = stream->pid,
							   .tid = stream->tid}};
	*made = true;
	return result;
}

static bool has_holes(uint32_t kind)
{
	return kind != PTL_KIND_METADATA && kind != PTL_KIND_EVENTS && kind != PTL_KIND_BLOB;
}

/* Returns the contradiction between a buffer and the preceding buffers, or NULL. */
static const char *contradiction(const struct format_reader_stream *stream, bool made,
				 const struct format_buffer_header *header)
{
	const struct ptl_stream *identity = &stream->stream;

	if (made)
		return NULL;
	if (identity->kind != header->kind || identity->cpu != header->cpu || identity->pid != header->pid ||
	    identity->tid != header->tid)
		return "the stream is another one in earlier buffers";
	if (stream->count && header->sequence < stream->next_sequence)
		return "the sequence number goes back";
	if (stream->count && header->position < stream->end)
		return "the position goes back";
	return NULL;
}

static int add_blob(struct ptl_trace *trace, const struct format_chunk *chunk)
{
	struct common_rows rows = {.size = sizeof(*trace->blobs.rows), .key_size = PTL_HASH_SIZE};
	struct format_blob *blob;

	int status = common_memory_budget_take(&trace->memory_budget, BLOB_BYTES, "blobs", trace->blobs.count + 1);

	if (status)
		return status;
	if (trace->blobs.count >= COMMON_NO_ROW ||
	    !common_vector_room(&trace->blobs.rows, trace->blobs.count, sizeof(*blob)))
		return common_fail_memory("blobs", trace->blobs.count * sizeof(*blob));
	blob = &trace->blobs.rows[trace->blobs.count];
	*blob = (struct format_blob){.info = {.type = chunk->type, .size = chunk->blob_size},
				     .from = FORMAT_BLOB_PARTS};
	memcpy(blob->info.hash, chunk->hash, PTL_HASH_SIZE);
	rows.rows = trace->blobs.rows;
	return common_row_index_add(&trace->blobs.index, &rows, (uint32_t)trace->blobs.count++);
}

/* Adds a chunk. Chunks of a side area follow each other in the payload, whose size format_side_decode has checked. */
static int add_chunk(struct ptl_trace *trace, const struct format_chunk *chunk, size_t entry, uint64_t from)
{
	const struct ptl_buffer *buffer = &trace->entries[entry].buffer;
	const struct format_blob_piece piece = {(uint32_t)entry, (uint32_t)from, chunk->offset, chunk->length};
	uint32_t number = ptl_blob_number(trace, chunk->hash);
	struct format_blob *blob;
	int status = 0;

	if (number == COMMON_NO_ROW) {
		status = add_blob(trace, chunk);
		number = (uint32_t)trace->blobs.count - 1;
	}
	if (status)
		return status;
	blob = &trace->blobs.rows[number];
	if (blob->info.type != chunk->type || blob->info.size != chunk->blob_size)
		return 0;
	status = format_blob_add_piece(trace, blob, &piece);
	if (!status && buffer->raw_size)
		blob->info.stored += chunk->length * buffer->stored_size / buffer->raw_size;
	return status;
}

static int take_side(struct ptl_trace *trace, struct format_reader_stream *stream, size_t entry, const uint8_t *data)
{
	const struct ptl_buffer *buffer = &trace->entries[entry].buffer;
	const uint64_t last = stream->psb_count ? stream->psbs[stream->psb_count - 1].offset : 0;
	struct format_side side;
	uint64_t from = 0;
	int status = format_side_decode(data, trace->entries[entry].side_size, buffer->stream.kind, buffer->position,
					buffer->first_time, buffer->raw_size, stream->psb_count > 0, last, &side);

	if (status == PTL_CORRUPT) {
		format_damage_add(trace, buffer->offset, 0, status, buffer->stream.id,
				  "stream %u, sequence %" PRIu64 ": %s", buffer->stream.id, buffer->sequence,
				  ptl_error_text());
		return 0;
	}
	if (!status && side.psb_count)
		status = common_memory_budget_take(&trace->memory_budget, side.psb_count * sizeof(*side.psbs),
						   "PSBs of a stream", stream->psb_count + side.psb_count);
	for (size_t i = 0; !status && i < side.psb_count; i++) {
		if (!common_vector_room(&stream->psbs, stream->psb_count, sizeof(*stream->psbs)))
			status = common_fail_memory("PSBs", stream->psb_count * sizeof(*stream->psbs));
		else
			stream->psbs[stream->psb_count++] = side.psbs[i];
	}
	for (size_t i = 0; !status && i < side.chunk_count; i++) {
		status = add_chunk(trace, &side.chunks[i], entry, from);
		from += side.chunks[i].length;
	}
	format_side_free(&side);
	return status;
}

static void report_state(struct ptl_trace *trace, const struct format_reader_stream *stream,
			 const struct format_buffer_header *header, uint64_t offset)
{
	const uint64_t missing = header->sequence - stream->next_sequence;

	if (missing)
		format_damage_add(trace, offset, 0, PTL_TRUNCATED, header->stream,
				  "stream %u: %" PRIu64 " buffers are missing before sequence %" PRIu64, header->stream,
				  missing, header->sequence);
	if (!stream->count && (!header->kind || header->kind > PTL_KIND_TRUTH))
		format_damage_add(trace, offset, 0, PTL_UNSUPPORTED, header->stream,
				  "stream %u is of the unknown kind %u: skipped", header->stream, header->kind);
}

static void count_buffer(struct format_reader_stream *stream, const struct format_buffer_header *header)
{
	struct ptl_stream *totals = &stream->stream;

	if (header->first_time && (!totals->first_time || header->first_time < totals->first_time))
		totals->first_time = header->first_time;
	if (header->last_time > totals->last_time)
		totals->last_time = header->last_time;
	totals->lost += header->sequence - stream->next_sequence;
	totals->buffers++;
	stream->next_sequence = header->sequence + 1;
	stream->end = header->position + header->raw_size;
	totals->bytes = has_holes(totals->kind) ? stream->end : totals->bytes + header->raw_size;
}

static int add_entry(struct ptl_trace *trace, struct format_reader_stream *stream,
		     const struct format_buffer_header *header, uint64_t offset)
{
	const int status = common_memory_budget_take(&trace->memory_budget, ENTRY_BYTES, "buffers",
						     trace->entry_count + 1);

	if (status)
		return status;
	if (trace->entry_count >= UINT32_MAX ||
	    !common_vector_room(&trace->entries, trace->entry_count, sizeof(*trace->entries)) ||
	    !common_vector_room(&stream->entries, stream->count, sizeof(*stream->entries)))
		return common_fail_memory("the list of buffers", trace->entry_count * sizeof(*trace->entries));
	stream->entries[stream->count++] = (uint32_t)trace->entry_count;
	trace->entries[trace->entry_count++] = (struct format_entry){
		.buffer = {.stream = {.id = header->stream,
				      .kind = header->kind,
				      .cpu = header->cpu,
				      .pid = header->pid,
				      .tid = header->tid},
			   .sequence = header->sequence,
			   .offset = offset,
			   .first_time = header->first_time,
			   .last_time = header->last_time,
			   .position = header->position,
			   .raw_size = header->raw_size,
			   .stored_size = header->stored_size,
			   .records = header->records,
			   .codec = header->codec},
		.checksum = header->payload_checksum,
		.side_size = header->side_size,
		.usable = format_buffer_header_usable(header),
	};
	return 0;
}

static void report_unusable(struct ptl_trace *trace, const struct format_buffer_header *header,
			    struct format_entry *entry)
{
	if (header->codec > FORMAT_CODEC_ZSTD || trace->header.minor > FORMAT_VERSION_MINOR)
		format_damage_entry(trace, entry,
				    common_fail(PTL_UNSUPPORTED,
						"stream %u, sequence %" PRIu64
						": codec %u, flags 0x%x: needs a newer reader",
						header->stream, header->sequence, header->codec, header->flags));
	else
		format_damage_entry(trace, entry,
				    common_fail(PTL_CORRUPT, "stream %u, sequence %" PRIu64 ": a reserved field is set",
						header->stream, header->sequence));
}

int format_register(struct ptl_trace *trace, const struct format_buffer_header *header, uint64_t offset,
		    const uint8_t *side)
{
	const struct ptl_stream identity = {
		.id = header->stream, .kind = header->kind, .cpu = header->cpu, .pid = header->pid, .tid = header->tid};
	struct format_reader_stream *stream;
	const char *wrong;
	size_t entry;
	bool made;
	int status;

	if (header->kind == PTL_KIND_INDEX)
		return 0;
	status = format_damage_check(trace);
	if (status)
		return status;
	stream = format_register_stream(trace, &identity, &made);
	if (!stream)
		return PTL_NO_MEMORY;
	wrong = contradiction(stream, made, header);
	if (wrong) {
		format_damage_add(trace, offset, format_buffer_header_extent(header), PTL_CORRUPT, header->stream,
				  "stream %u, sequence %" PRIu64 ": %s", header->stream, header->sequence, wrong);
		return 0;
	}
	report_state(trace, stream, header, offset);
	entry = trace->entry_count;
	status = add_entry(trace, stream, header, offset);
	if (status)
		return status;
	count_buffer(stream, header);
	if (!trace->entries[entry].usable)
		report_unusable(trace, header, &trace->entries[entry]);
	return take_side(trace, stream, entry, side);
}

void format_register_end(struct ptl_trace *trace, uint32_t id, uint64_t sequence, uint64_t position, uint64_t offset)
{
	const uint64_t *known = common_hash_map_get(&trace->stream_map, id);
	struct format_reader_stream *stream;

	if (!known)
		return;
	stream = &trace->streams[*known];
	if (position > stream->end && has_holes(stream->stream.kind))
		stream->stream.bytes = position;
	if (sequence <= stream->next_sequence)
		return;
	stream->stream.lost += sequence - stream->next_sequence;
	format_damage_add(trace, offset, 0, PTL_TRUNCATED, id, "stream %u: %" PRIu64 " buffers are missing at its end",
			  id, sequence - stream->next_sequence);
	stream->next_sequence = sequence;
}
