/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of PT streams: random access across holes, and the index of PSBs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/partition.h"
#include "common/vector.h"
#include "format/pt/psb_scan.h"
#include "format/reader/reader_internal.h"

static struct format_reader_stream *find_stream(struct ptl_trace *trace, uint32_t id)
{
	const uint64_t *known = common_hash_map_get(&trace->stream_map, id);

	return known ? &trace->streams[*known] : NULL;
}

/* Returns the first buffer of the stream that ends after `offset`; stream->count if there is none. */
static size_t first_behind(const struct ptl_trace *trace, const struct format_reader_stream *stream, uint64_t offset)
{
	const uint32_t *entries = stream->entries;

	return COMMON_PARTITION(
		stream->count, at,
		trace->entries[entries[at]].buffer.position + trace->entries[entries[at]].buffer.raw_size <= offset);
}

/* Copies bytes from one buffer. A whole buffer is decompressed directly into `out`. */
static int copy_from(struct ptl_trace *trace, size_t entry, size_t from, size_t size, uint8_t *out)
{
	const uint8_t *data;
	size_t all;
	int status;

	if (size == trace->entries[entry].buffer.raw_size)
		return ptl_buffer_read_into(trace, entry, out, size);
	status = ptl_buffer_acquire(trace, entry, &data, &all);
	if (status)
		return status;
	memcpy(out, data + from, size);
	format_buffer_release_read(trace, entry, from == 0, from + size == all);
	return 0;
}

/* Returns the distance from `offset` to the next byte that may be readable, or to the stream's end. */
static uint64_t hole_at(const struct ptl_trace *trace, const struct format_reader_stream *stream, size_t i,
			uint64_t offset)
{
	if (i < stream->count)
		return trace->entries[stream->entries[i]].buffer.position - offset;
	return offset < stream->stream.bytes ? stream->stream.bytes - offset : 0;
}

int ptl_stream_read(struct ptl_trace *trace, uint32_t id, uint64_t offset, void *data, size_t size, size_t *read,
		    uint64_t *hole)
{
	const struct format_reader_stream *stream = find_stream(trace, id);
	uint8_t *out = data;
	size_t i;

	*read = 0;
	*hole = 0;
	if (!stream || stream->stream.kind == PTL_KIND_EVENTS || stream->stream.kind == PTL_KIND_METADATA ||
	    stream->stream.kind == PTL_KIND_BLOB)
		return common_fail(PTL_MISUSE, "there is no stream %u of bytes", id);
	for (i = first_behind(trace, stream, offset); *read < size && i < stream->count; i++) {
		const size_t entry = stream->entries[i];
		const struct ptl_buffer *buffer = &trace->entries[entry].buffer;
		size_t from, part;
		int status;

		if (buffer->position > offset)
			break;
		from = (size_t)(offset - buffer->position);
		part = buffer->raw_size - from;
		if (part > size - *read)
			part = size - *read;
		status = part ? copy_from(trace, entry, from, part, out + *read) : 0;
		if (format_is_damage(status)) {
			/* The rest of a damaged buffer counts as a hole. */
			if (!*read)
				*hole = buffer->raw_size - from;
			return 0;
		}
		if (status)
			return status;
		*read += part;
		offset += part;
	}
	if (!*read && size)
		*hole = hole_at(trace, stream, i, offset);
	return 0;
}

void ptl_stream_read_ahead(struct ptl_trace *trace, uint32_t id, uint64_t offset, uint64_t end, size_t n)
{
	const struct format_reader_stream *stream = find_stream(trace, id);
	const size_t first = stream ? first_behind(trace, stream, offset) : 0;
	const uint8_t *data;
	size_t size, entry;

	if (!stream || n >= stream->count - first)
		return;
	entry = stream->entries[first + n];
	if (trace->entries[entry].buffer.position < end && !ptl_buffer_acquire(trace, entry, &data, &size))
		ptl_buffer_release(trace, entry);
}

/* ---- PSBs ----------------------------------------------------------------------------------------- */

static int add_psb(void *context, uint64_t offset)
{
	struct format_reader_stream *stream = context;

	if (!common_vector_room(&stream->psbs, stream->psb_count, sizeof(*stream->psbs)))
		return common_fail_memory("PSBs", stream->psb_count * sizeof(*stream->psbs));
	stream->psbs[stream->psb_count++] = (struct ptl_psb){offset, 0};
	return 0;
}

/* Searches a buffer. Skips a damaged buffer. */
static int search_buffer(struct ptl_trace *trace, struct format_reader_stream *stream, uint32_t entry,
			 struct format_pt_psb_scan *scan)
{
	const uint64_t position = trace->entries[entry].buffer.position;
	const uint8_t *data;
	size_t size;
	int status = ptl_buffer_acquire(trace, entry, &data, &size);

	if (status)
		return format_is_damage(status) ? 0 : status;
	if (position != scan->offset)
		status = format_pt_psb_scan_end(scan, add_psb, stream);
	scan->offset = position;
	if (!status)
		status = format_pt_psb_scan(scan, data, size, add_psb, stream);
	ptl_buffer_release(trace, entry);
	return status;
}

static int search_stream(struct ptl_trace *trace, struct format_reader_stream *stream)
{
	struct format_pt_psb_scan scan = {0};
	int status = 0;

	for (size_t i = 0; !status && i < stream->count; i++)
		status = search_buffer(trace, stream, stream->entries[i], &scan);
	return status ? status : format_pt_psb_scan_end(&scan, add_psb, stream);
}

int ptl_psb_index(struct ptl_trace *trace, uint32_t id, const struct ptl_psb **psbs, size_t *count)
{
	struct format_reader_stream *stream = find_stream(trace, id);
	int status = 0;

	if (!stream || stream->stream.kind != PTL_KIND_PT)
		return common_fail(PTL_MISUSE, "there is no PT stream %u", id);
	pthread_mutex_lock(&trace->psb_lock);
	if (!stream->psb_count && !stream->scanned) {
		status = search_stream(trace, stream);
		stream->scanned = !status;
		if (status)
			stream->psb_count = 0;
	}
	*psbs = stream->psbs;
	*count = stream->psb_count;
	pthread_mutex_unlock(&trace->psb_lock);
	return status;
}
