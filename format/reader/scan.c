/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the buffers of a file without using an index (docs/format.md 7). */
#include <stdlib.h>

#include "common/error.h"
#include "common/file.h"
#include "format/reader/reader_internal.h"

#define WIDE_SIZE (256u << 10) /* bytes, for sequential search */
#define JUMP_SIZE 512u         /* bytes, for checking single places for a header */

/* A part of the file in memory. */
struct window {
	uint8_t *data;
	size_t room;
	uint64_t offset;
	size_t size;
};

/*
 * Two windows: checking a place far ahead does not discard the window of the sequential search. Otherwise a hostile
 * file, with a header every 104 bytes each claiming a distant end, would make the scan slow.
 */
struct scan {
	struct ptl_trace *trace;
	struct window wide, jump;
	uint8_t *side;    /* FORMAT_SIDE_MAX bytes */
	uint64_t trailer; /* offset of the trailer; UINT64_MAX: no trailer */
	int status;       /* PTL_SYSTEM ends the scan */
};

static const uint8_t *find_in(const struct window *window, uint64_t offset, size_t need, size_t *got)
{
	if (offset < window->offset || offset + need > window->offset + window->size)
		return NULL;
	*got = window->size - (size_t)(offset - window->offset);
	return window->data + (offset - window->offset);
}

/*
 * Returns at least `need` bytes at offset, and their number in *got. NULL if the file ends before or cannot be read.
 * Reads into `window` if neither window contains the bytes.
 */
static const uint8_t *read_window(struct scan *scan, struct window *window, uint64_t offset, size_t need, size_t *got)
{
	const uint64_t left = offset < scan->trace->size ? scan->trace->size - offset : 0;
	const size_t size = left < window->room ? (size_t)left : window->room;
	const uint8_t *found;

	if (left < need || scan->status)
		return NULL;
	found = find_in(&scan->wide, offset, need, got);
	if (!found)
		found = find_in(&scan->jump, offset, need, got);
	if (found)
		return found;
	window->size = 0;
	scan->status = common_read_at(scan->trace->fd, window->data, size, offset);
	if (scan->status)
		return NULL;
	window->offset = offset;
	window->size = size;
	return find_in(window, offset, need, got);
}

static bool header_at(struct scan *scan, uint64_t offset, struct format_buffer_header *header)
{
	size_t got;
	const uint8_t *data = read_window(scan, &scan->jump, offset, FORMAT_BUFFER_HEADER_SIZE, &got);

	return data && format_buffer_header_decode(data, header) && header->file_id == scan->trace->file_id;
}

/* Returns the lowest place from `offset` on with a header or the trailer; otherwise the file's size. */
static uint64_t next_at(struct scan *scan, uint64_t offset)
{
	struct format_buffer_header header;
	const uint64_t size = scan->trace->size;
	const uint64_t limit = scan->trailer >= offset && scan->trailer < size ? scan->trailer : size;
	size_t got;

	while (offset < limit) {
		const uint8_t *data = read_window(scan, &scan->wide, offset, FORMAT_BUFFER_HEADER_SIZE, &got);
		const uint8_t *found;

		if (!data)
			break;
		found = memchr(data, 'P', got);
		if (!found) {
			offset += got;
			continue;
		}
		offset += (uint64_t)(found - data);
		if (offset >= limit)
			break;
		/* Reads more if the window ends within the header. */
		if (got - (size_t)(found - data) < FORMAT_BUFFER_HEADER_SIZE)
			found = read_window(scan, &scan->wide, offset, FORMAT_BUFFER_HEADER_SIZE, &got);
		if (found && format_buffer_header_decode(found, &header) && header.file_id == scan->trace->file_id)
			return offset;
		offset++;
	}
	return limit;
}

static void damage(struct scan *scan, uint64_t from, uint64_t to, const char *text)
{
	const bool truncated = to == scan->trace->size && to - from < FORMAT_BUFFER_HEADER_SIZE;

	format_damage_add(scan->trace, from, to - from, truncated ? PTL_TRUNCATED : PTL_CORRUPT, PTL_NO_ID, "%s",
			  truncated ? "the file ends within a buffer" : text);
}

static int register_at(struct scan *scan, uint64_t offset, const struct format_buffer_header *header)
{
	int status = 0;

	if (header->side_size)
		status = common_read_at(scan->trace->fd, scan->side, header->side_size,
					offset + FORMAT_BUFFER_HEADER_SIZE);
	return status ? status : format_register(scan->trace, header, offset, scan->side);
}

/*
 * Handles a buffer that no valid buffer follows: either the buffer or the following data is damaged. Returns where to
 * continue.
 */
static uint64_t doubtful(struct scan *scan, uint64_t at, const struct format_buffer_header *header, int *status)
{
	const uint64_t size = scan->trace->size;
	const uint64_t end = at + format_buffer_header_extent(header);
	const uint64_t next = next_at(scan, at + FORMAT_BUFFER_HEADER_SIZE);

	if (next < end && next < size) {
		format_damage_add(scan->trace, at, next - at, PTL_CORRUPT, header->stream,
				  "stream %u: bytes of a buffer are gone, another one starts within it",
				  header->stream);
	} else if (end <= size) {
		*status = register_at(scan, at, header);
		damage(scan, end, next, "bytes that belong to no buffer");
	} else {
		format_damage_add(scan->trace, at, size - at, PTL_TRUNCATED, header->stream,
				  "stream %u: the file ends within a buffer", header->stream);
		return size;
	}
	return next;
}

static uint64_t scan_step(struct scan *scan, uint64_t at, int *status)
{
	struct format_buffer_header header, following;
	uint64_t end;

	if (!header_at(scan, at, &header)) {
		const uint64_t next = next_at(scan, at + 1);

		if (!scan->status)
			damage(scan, at, next, "bytes that belong to no buffer");
		return next;
	}
	end = at + format_buffer_header_extent(&header);
	if (end == scan->trace->size || end == scan->trailer || header_at(scan, end, &following)) {
		*status = register_at(scan, at, &header);
		return end;
	}
	return doubtful(scan, at, &header, status);
}

static int scan_buffers(struct scan *scan, uint64_t at)
{
	struct ptl_trace *trace = scan->trace;
	int status = 0;

	while (!status && !scan->status && at < trace->size && at != scan->trailer)
		at = scan_step(scan, at, &status);
	if (status || scan->status)
		return status ? status : scan->status;
	if (!trace->complete)
		format_damage_add(trace, trace->size, 0, PTL_TRUNCATED, PTL_NO_ID,
				  "the index is missing: the writer did not close the file");
	return 0;
}

static bool trailer_at(struct scan *scan, uint64_t offset)
{
	struct format_trailer trailer;
	size_t got;
	const uint8_t *data = read_window(scan, &scan->jump, offset, FORMAT_TRAILER_SIZE, &got);

	return data && format_trailer_decode(data, &trailer) && trailer.file_id == scan->trace->file_id;
}

/* Skips bytes that certainly belong to no buffer. False: more data is needed first. */
static bool skip_foreign_bytes(struct scan *scan, uint64_t *at)
{
	uint64_t next;

	if (scan->trace->size - *at < FORMAT_BUFFER_HEADER_SIZE)
		return false;
	next = next_at(scan, *at + 1);
	/* A header may begin in the present data and end in data still to come. */
	if (next == scan->trace->size)
		next -= FORMAT_BUFFER_HEADER_SIZE - 1;
	damage(scan, *at, next, "bytes that belong to no buffer");
	*at = next;
	return true;
}

/* Registers complete buffers; the writer is still writing after *at. */
static int run_grown(struct scan *scan, uint64_t *at)
{
	struct format_buffer_header header;
	int status = 0;

	while (!status && !scan->status && *at < scan->trace->size) {
		if (header_at(scan, *at, &header)) {
			const uint64_t extent = format_buffer_header_extent(&header);

			if (extent > scan->trace->size - *at)
				break;
			status = register_at(scan, *at, &header);
			*at += extent;
			continue;
		}
		if (trailer_at(scan, *at)) {
			scan->trace->complete = true;
			break;
		}
		if (!skip_foreign_bytes(scan, at))
			break;
	}
	return status ? status : scan->status;
}

static int prepare_scan(struct scan *scan, struct ptl_trace *trace)
{
	*scan = (struct scan){.trace = trace, .trailer = UINT64_MAX};
	if (trace->complete)
		scan->trailer = trace->size - FORMAT_TRAILER_SIZE;
	scan->wide = (struct window){.data = malloc(WIDE_SIZE), .room = WIDE_SIZE};
	scan->jump = (struct window){.data = malloc(JUMP_SIZE), .room = JUMP_SIZE};
	scan->side = malloc(FORMAT_SIDE_MAX);
	return scan->wide.data && scan->jump.data && scan->side ? 0 : common_fail_memory("scanning", WIDE_SIZE);
}

static void release_scan(struct scan *scan)
{
	free(scan->wide.data);
	free(scan->jump.data);
	free(scan->side);
}

int format_scan(struct ptl_trace *trace, uint64_t from)
{
	struct scan scan;
	int status = prepare_scan(&scan, trace);

	if (!status)
		status = scan_buffers(&scan, from);
	release_scan(&scan);
	return status;
}

int format_scan_grown(struct ptl_trace *trace, uint64_t *at)
{
	struct scan scan;
	int status = prepare_scan(&scan, trace);

	if (!status)
		status = run_grown(&scan, at);
	release_scan(&scan);
	return status;
}
