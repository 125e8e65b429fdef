/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots of areas that the CPU overwrites. The kernel tells the CPU's next position in the area, but not whether the
 * CPU has lapped the last snapshot. Without a lap, the bytes from the next position to the last position are unchanged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "common/error.h"
#include "common/program/message.h"
#include "record/capture/notes.h"
#include "record/intel_pt/intel_pt_state.h"

#define SURE 4096u /* more equal bytes than chance explains */

/* Checks for zeros: before the first lap, the rest of the area is zero. */
static bool is_zero(const uint8_t *bytes, size_t size)
{
	return !size || (!bytes[0] && !memcmp(bytes, bytes + 1, size - 1));
}

/* Checks whether bytes from `from` on, wrapping at the end of the area, equal the last snapshot. */
static bool is_same_bytes(const struct intel_pt_buffer *buffer, size_t from, size_t size)
{
	const size_t room = buffer->ring.aux_size - from;
	const size_t first = size < room ? size : room;

	return !memcmp(buffer->ring.aux + from, buffer->before + from, first) &&
	       !memcmp(buffer->ring.aux, buffer->before, size - first);
}

/* Search for the last PSB that is old enough. */
struct depth {
	const struct intel_pt_buffer *buffer;
	uint64_t from;   /* position of the first byte */
	uint64_t before; /* time that the PSB must not exceed */
	uint64_t found;  /* bytes behind `from`; 0 if not found */
	struct import_psb_past past;
};

static int look_at_psb(void *context, uint64_t offset)
{
	struct depth *depth = context;
	const struct intel_pt_ring *ring = &depth->buffer->ring;
	const struct intel_pt_stream *stream = &depth->buffer->stream;
	const struct import_psb_clock clock = record_capture_psb_clock(stream->capture, stream->time);
	const uint64_t at = (depth->from + offset) & (ring->aux_size - 1);
	const size_t room = ring->aux_size - at;
	uint8_t bytes[FORMAT_PT_PSB_PLUS_MAX];
	const size_t first = sizeof(bytes) < room ? sizeof(bytes) : room;
	uint64_t time;

	memcpy(bytes, ring->aux + at, first);
	memcpy(bytes + first, ring->aux, sizeof(bytes) - first);
	time = import_psb_time(&clock, &depth->past, bytes, sizeof(bytes));
	if (time && time <= depth->before)
		depth->found = offset;
	return 0;
}

/* Returns the number of initial bytes that are too old to keep. */
static uint64_t find_depth(const struct intel_pt_buffer *buffer, uint64_t from, uint64_t size)
{
	struct depth depth = {.buffer = buffer, .from = from, .before = buffer->stream.time - buffer->depth};
	struct format_pt_psb_scan scan = {0};

	for (uint64_t at = 0; buffer->depth && at < size;) {
		const uint8_t *bytes;
		const size_t piece = intel_pt_ring_aux(&buffer->ring, from + at, size - at, &bytes);

		(void)format_pt_psb_scan(&scan, bytes, piece, look_at_psb, &depth);
		at += piece;
	}
	return depth.found;
}

static int take_snapshot(struct intel_pt_buffer *buffer, uint64_t from, uint64_t size)
{
	const uint64_t older = find_depth(buffer, from, size);
	int status = older ? intel_pt_stream_interrupt(&buffer->stream, older,
						       "packets older than --snapshot-depth were left out")
			   : 0;

	from += older;
	size -= older;

	while (status == 0 && size) {
		const uint8_t *bytes;
		const size_t piece = intel_pt_ring_aux(&buffer->ring, from, size, &bytes);

		status = intel_pt_stream_bytes(&buffer->stream, bytes, piece);
		from += piece;
		size -= piece;
	}
	return status;
}

/* Takes the whole area. The oldest byte is at the CPU's next position. */
static int take_first(struct intel_pt_buffer *buffer, size_t head, const char *cause)
{
	const size_t size = buffer->ring.aux_size;
	int status;

	if (is_zero(buffer->ring.aux + head, size - head))
		return take_snapshot(buffer, 0, head);
	status = intel_pt_stream_interrupt(&buffer->stream, 0, cause);
	return status < 0 ? status : take_snapshot(buffer, head, size);
}

static int take_next(struct intel_pt_buffer *buffer, size_t head, const char *cause)
{
	const size_t size = buffer->ring.aux_size;
	const size_t before = (size_t)buffer->before_head & (size - 1);
	const size_t fresh = (head - before) & (size - 1), old = size - fresh;
	int status = 0;

	if (!is_same_bytes(buffer, head, old)) {
		status = intel_pt_stream_interrupt(&buffer->stream, 0, cause);
		return status < 0 ? status : take_snapshot(buffer, head, size);
	}
	/* Few equal bytes prove nothing. The new bytes are contiguous in any case. */
	if (old < SURE && fresh)
		status = intel_pt_stream_interrupt(&buffer->stream, 0, cause);
	return status < 0 ? status : take_snapshot(buffer, before, fresh);
}

static int keep_buffer(struct intel_pt_buffer *buffer)
{
	const uint64_t position = intel_pt_ring_aux_head(&buffer->ring);
	const size_t head = (size_t)position & (buffer->ring.aux_size - 1);
	char cause[128];
	int status;

	snprintf(cause, sizeof(cause), "packets of CPU %u were written over before the snapshot", buffer->cpu);
	status = buffer->before ? take_next(buffer, head, cause) : take_first(buffer, head, cause);
	if (!buffer->before)
		buffer->before = malloc(buffer->ring.aux_size);
	if (!buffer->before)
		return status < 0 ? status : common_fail_memory("a snapshot", buffer->ring.aux_size);
	memcpy(buffer->before, buffer->ring.aux, buffer->ring.aux_size);
	buffer->before_head = position;
	return status;
}

/* Reports cause and time to the user and in the trace. */
static int report_snapshot(struct intel_pt *pt, const char *cause)
{
	char text[600];

	snprintf(text, sizeof(text), "snapshot: %.512s", cause);
	if (!pt->session->settings->quiet)
		common_message_note("%s", text);
	return record_note(&pt->session->capture, &(struct record_note){.time = record_now(), .text = text});
}

int intel_pt_snapshot(struct intel_pt *pt, const char *cause)
{
	const bool go_on = pt->enabled;
	int status = 0;

	for (size_t i = 0; i < pt->count; i++)
		intel_pt_buffer_control(pt->buffers[i], PERF_EVENT_IOC_DISABLE);
	/* The kernel writes the last records at the stop. */
	for (size_t i = 0; status == 0 && i < pt->count; i++) {
		bool work;

		status = intel_pt_drain(pt, pt->buffers[i], &work);
		pt->buffers[i]->stream.time = record_now();
		if (status == 0)
			status = keep_buffer(pt->buffers[i]);
	}
	for (size_t i = 0; go_on && i < pt->count; i++)
		intel_pt_buffer_control(pt->buffers[i], PERF_EVENT_IOC_ENABLE);
	return status < 0 ? status : report_snapshot(pt, cause);
}
