/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes packets and finds PSBs. The time of a PSB may arrive in a later piece. */
#include "record/intel_pt/stream.h"

#include <string.h>

#include "record/capture/capture.h"

int intel_pt_stream_open(struct intel_pt_stream *stream, struct record_capture *capture, uint32_t cpu, uint32_t pid,
			 uint32_t tid)
{
	const struct ptl_stream made = {.kind = PTL_KIND_PT, .cpu = cpu, .pid = pid, .tid = tid};

	*stream = (struct intel_pt_stream){.capture = capture, .pid = pid, .tid = tid};
	return record_capture_stream(capture, &made, &stream->id);
}

static int write_psb(struct intel_pt_stream *stream, uint64_t time)
{
	stream->psb.is = false;
	return record_capture_psb(stream->capture, stream->id, stream->psb.offset, time);
}

/* Reads the time behind the PSB, if enough bytes have arrived. */
static int try_psb(struct intel_pt_stream *stream, bool last)
{
	uint64_t time = stream->time;
	enum import_psb_found found;

	if (!stream->psb.is)
		return 0;
	found = import_psb_time(&stream->capture->machine, stream->psb.bytes, stream->psb.size, &time);
	if (found == IMPORT_PSB_UNFINISHED && !last && stream->psb.size < sizeof(stream->psb.bytes))
		return 0;
	return write_psb(stream, found == IMPORT_PSB_TIMED ? time : stream->time);
}

/* Appends the piece's bytes that follow the PSB. */
static void add_to_psb(struct intel_pt_stream *stream)
{
	const uint64_t next = stream->psb.offset + PTL_PT_PSB_SIZE + stream->psb.size;
	const size_t room = sizeof(stream->psb.bytes) - stream->psb.size;
	size_t at, size;

	if (!stream->psb.is || next < stream->piece_start || next - stream->piece_start >= stream->piece_size)
		return;
	at = (size_t)(next - stream->piece_start);
	size = stream->piece_size - at < room ? stream->piece_size - at : room;
	memcpy(stream->psb.bytes + stream->psb.size, stream->piece + at, size);
	stream->psb.size += size;
}

static int found_psb(void *context, uint64_t offset)
{
	struct intel_pt_stream *stream = context;
	int status = try_psb(stream, true);

	stream->psb.is = true;
	stream->psb.offset = offset;
	stream->psb.size = 0;
	add_to_psb(stream);
	return status < 0 ? status : try_psb(stream, false);
}

int intel_pt_stream_bytes(struct intel_pt_stream *stream, const void *data, size_t size)
{
	int status;

	if (!size)
		return 0;
	stream->piece = data;
	stream->piece_start = stream->end;
	stream->piece_size = size;
	status = record_capture_pt(stream->capture, stream->id, data, size, stream->time);
	if (status == 0) {
		add_to_psb(stream);
		status = try_psb(stream, false);
	}
	if (status == 0)
		status = format_pt_psb_scan(&stream->scan, data, size, found_psb, stream);
	stream->end += size;
	stream->piece_size = 0;
	return status;
}

int intel_pt_stream_finish(struct intel_pt_stream *stream)
{
	int status = format_pt_psb_scan_end(&stream->scan, found_psb, stream);

	return status < 0 ? status : try_psb(stream, true);
}

int intel_pt_stream_lose(struct intel_pt_stream *stream, uint32_t kind, uint64_t count, uint64_t bytes,
			 const char *cause)
{
	return record_capture_loss(stream->capture, &(struct ptl_loss){
							    .kind = kind,
							    .stream = stream->id,
							    .pid = stream->pid,
							    .tid = stream->tid,
							    .count = count,
							    .bytes = bytes,
							    .first_time = stream->time,
							    .last_time = stream->time,
							    .cause = cause,
						    });
}

int intel_pt_stream_break(struct intel_pt_stream *stream, uint64_t bytes)
{
	const uint64_t hole = bytes ? bytes : 1; /* a hole, so that no reader joins both sides */
	int status = intel_pt_stream_finish(stream);

	if (status == 0)
		status = record_capture_hole(stream->capture, stream->id, hole, stream->time);
	stream->end += hole;
	stream->scan = (struct format_pt_psb_scan){.offset = stream->end, .found = stream->scan.found};
	return status;
}

int intel_pt_stream_interrupt(struct intel_pt_stream *stream, uint64_t bytes, const char *cause)
{
	const int status = intel_pt_stream_break(stream, bytes);

	return status < 0 ? status : intel_pt_stream_lose(stream, PTL_LOSS_BYTES, 1, bytes, cause);
}
