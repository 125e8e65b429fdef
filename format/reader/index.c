/* SPDX-License-Identifier: BSD-2-Clause */
/* Trailer and index: find all buffers of a closed file without scanning it (docs/format.md 8). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/file.h"
#include "format/reader/reader_internal.h"

enum index_item { ITEM_BUFFER = 1, ITEM_STREAM_END = 2 };

/* Purpose of a pass over the index. */
enum purpose {
	LOOK,     /* check that the index is well formed */
	REGISTER, /* register its buffers */
	COMPARE,  /* compare its headers and side areas with those in the file */
};

bool format_find_trailer(struct ptl_trace *trace, struct format_trailer *trailer, int *status)
{
	uint8_t data[FORMAT_TRAILER_SIZE];

	*status = 0;
	if (trace->size < FORMAT_FILE_HEADER_SIZE + FORMAT_TRAILER_SIZE)
		return false;
	*status = common_read_at(trace->fd, data, sizeof(data), trace->size - FORMAT_TRAILER_SIZE);
	return !*status && format_trailer_decode(data, trailer) && trailer->file_id == trace->file_id;
}

/*
 * Loads the payload of the INDEX buffer at *offset into `out`, and moves *offset past the buffer. before: total bytes
 * of the preceding payloads.
 */
static int load_piece(struct ptl_trace *trace, uint64_t *offset, uint64_t sequence, uint64_t before,
		      struct ptl_bytes *out)
{
	const uint64_t limit = trace->size - FORMAT_TRAILER_SIZE;
	uint8_t data[FORMAT_BUFFER_HEADER_SIZE], *place;
	struct format_buffer_header header;
	struct format_entry entry;
	int status;

	if (*offset > limit || limit - *offset < sizeof(data))
		return common_fail(PTL_CORRUPT, "the index does not fit the file");
	status = common_read_at(trace->fd, data, sizeof(data), *offset);
	if (status)
		return status;
	if (!format_buffer_header_decode(data, &header) || header.file_id != trace->file_id ||
	    header.kind != PTL_KIND_INDEX || header.sequence != sequence || !format_buffer_header_usable(&header) ||
	    format_buffer_header_extent(&header) > limit - *offset)
		return common_fail(PTL_CORRUPT, "buffer %llu of the index is damaged", (unsigned long long)sequence);
	/* An index repeats headers and side areas, so its size is limited by the file's size. */
	if (before > 2 * trace->size || header.raw_size > 2 * trace->size - before)
		return common_fail(PTL_CORRUPT, "the index is too large");
	entry = (struct format_entry){.buffer = {.stream = {.id = header.stream},
						 .sequence = sequence,
						 .offset = *offset,
						 .raw_size = header.raw_size,
						 .stored_size = header.stored_size,
						 .codec = header.codec},
				      .checksum = header.payload_checksum,
				      .side_size = header.side_size};
	out->size = 0;
	place = common_bytes_grow(out, header.raw_size);
	if (!place && header.raw_size)
		return common_fail_memory("the index", header.raw_size);
	*offset += format_buffer_header_extent(&header);
	return header.raw_size ? format_payload_load(trace, &entry, place) : 0;
}

/*
 * Compares header and side area, of `size` bytes, in the index with those of the buffer in the file. Adds a difference
 * to the damage list.
 */
static int compare_entry(struct ptl_trace *trace, const struct format_buffer_header *header, uint64_t offset,
			 const uint8_t *data, size_t size)
{
	uint8_t *there = malloc(size);
	int status = there ? common_read_at(trace->fd, there, size, offset) : common_fail_memory("a side area", size);

	if (!status && memcmp(there, data, size) != 0)
		format_damage_add(trace, offset, 0, PTL_CORRUPT, header->stream,
				  "stream %" PRIu32 ", sequence %" PRIu64 ": the %s is not the one that the index has",
				  header->stream, header->sequence,
				  memcmp(there, data, FORMAT_BUFFER_HEADER_SIZE) != 0 ? "header" : "side area");
	free(there);
	return status;
}

/* Handles a "buffer" item. *end: end of the preceding buffer. */
static int buffer_item(struct ptl_trace *trace, struct common_cursor *item, uint64_t limit, enum purpose purpose,
		       uint64_t *end)
{
	const uint64_t distance = common_read_varint(item);
	const uint8_t *data = common_read_bytes(item, FORMAT_BUFFER_HEADER_SIZE), *side;
	struct format_buffer_header header;
	uint64_t offset;

	if (!data || distance > limit - *end || !format_buffer_header_decode(data, &header) ||
	    header.file_id != trace->file_id || header.kind == PTL_KIND_INDEX)
		return common_fail(PTL_CORRUPT, "an entry of the index is no buffer");
	offset = *end + distance;
	side = common_read_bytes(item, header.side_size);
	if (!side || common_cursor_left(item) || format_buffer_header_extent(&header) > limit - offset)
		return common_fail(PTL_CORRUPT, "an entry of the index does not fit");
	if (purpose == REGISTER && distance)
		format_damage_add(trace, *end, distance, PTL_CORRUPT, PTL_NO_ID, "bytes that belong to no buffer");
	*end = offset + format_buffer_header_extent(&header);
	if (purpose == COMPARE)
		return compare_entry(trace, &header, offset, data,
				     FORMAT_BUFFER_HEADER_SIZE + (size_t)header.side_size);
	return purpose == REGISTER ? format_register(trace, &header, offset, side) : 0;
}

static int stream_item(struct ptl_trace *trace, struct common_cursor *item, uint64_t index, enum purpose purpose)
{
	const uint64_t stream = common_read_varint(item);
	const uint64_t sequence = common_read_varint(item);
	const uint64_t position = common_read_varint(item);

	if (item->failed || common_cursor_left(item) || stream > UINT32_MAX)
		return common_fail(PTL_CORRUPT, "a stream's end in the index does not fit");
	if (purpose == REGISTER)
		format_register_end(trace, (uint32_t)stream, sequence, position, index);
	return 0;
}

/* Handles the items of one INDEX buffer; items do not span buffers. */
static int piece_items(struct ptl_trace *trace, const struct ptl_bytes *piece, uint64_t limit, enum purpose purpose,
		       uint64_t *end)
{
	struct common_cursor in = common_cursor(piece->data, piece->size);
	int status = 0;

	while (!status && common_cursor_left(&in)) {
		const uint64_t type = common_read_varint(&in);
		const uint64_t length = common_read_varint(&in);
		const uint8_t *body = common_read_bytes(&in, length);
		struct common_cursor item = common_cursor(body, body ? length : 0);

		if (!body)
			return common_fail(PTL_CORRUPT, "an item of the index does not fit");
		if (type == ITEM_BUFFER)
			status = buffer_item(trace, &item, limit, purpose, end);
		else if (type == ITEM_STREAM_END)
			status = stream_item(trace, &item, limit, purpose);
	}
	return status;
}

/* Processes the whole index, with one INDEX buffer in memory at a time. */
static int go_through(struct ptl_trace *trace, const struct format_trailer *trailer, enum purpose purpose)
{
	const uint64_t limit = trailer->index_offset;
	uint64_t end = FORMAT_FILE_HEADER_SIZE, offset = limit, total = 0;
	struct ptl_bytes piece = {0};
	int status = 0;

	for (uint64_t i = 0; !status && i < trailer->index_buffers; i++) {
		status = load_piece(trace, &offset, i, total, &piece);
		total += piece.size;
		if (!status)
			status = piece_items(trace, &piece, limit, purpose, &end);
	}
	common_bytes_free(&piece);
	if (!status && offset != trace->size - FORMAT_TRAILER_SIZE)
		status = common_fail(PTL_CORRUPT, "the index does not end at the trailer");
	if (!status && purpose == REGISTER && end < limit)
		format_damage_add(trace, end, limit - end, PTL_CORRUPT, PTL_NO_ID, "bytes that belong to no buffer");
	return status;
}

int format_index_load(struct ptl_trace *trace, const struct format_trailer *trailer)
{
	int status;

	if (!trailer->index_buffers || trailer->index_offset < FORMAT_FILE_HEADER_SIZE)
		return common_fail(PTL_CORRUPT, "the trailer names no index");
	status = go_through(trace, trailer, LOOK);
	/* A truncated or contradictory index counts as missing. Otherwise the index is trusted from here on. */
	if (status == PTL_TRUNCATED)
		status = PTL_CORRUPT;
	if (!status)
		status = go_through(trace, trailer, REGISTER);
	trace->indexed = !status;
	return status;
}

int format_index_compare(struct ptl_trace *trace)
{
	struct format_trailer trailer;
	int status;

	if (!trace->indexed || !format_find_trailer(trace, &trailer, &status))
		return trace->indexed ? status : 0;
	return go_through(trace, &trailer, COMPARE);
}
