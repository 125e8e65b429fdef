/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of a capture, divided between the files of a series at the beginning of a PSB. */
#include "record/capture/packets.h"

#include <string.h>

#include <ptl/pt.h>

#include "common/error.h"
#include "common/vector.h"
#include "format/pt/psb_plus.h"
#include "record/capture/capture.h"

static int put_psb_before(struct record_capture *capture, const struct record_stream *stream, uint64_t offset,
			  uint64_t time)
{
	const bool is_there = offset < stream->base || (offset == stream->base && stream->repeats);

	if (!is_there || !capture->rotation.before.writer || stream->before == PTL_NO_ID ||
	    offset < stream->base_before)
		return 0;
	return record_output_check(
		&capture->rotation.before,
		ptl_writer_psb(capture->rotation.before.writer, stream->before, offset - stream->base_before, time));
}

/* Notes that the stream's part in the previous file is complete. */
static void stop_waiting(struct record_capture *capture, struct record_stream *stream)
{
	capture->streams.waiting -= stream->waits || stream->unstated;
	stream->waits = stream->unstated = false;
}

/* Writes the PSB that ends the part in the previous file, if the source has not stated the PSB. */
static int put_unstated(struct record_capture *capture, const struct record_stream *stream)
{
	return stream->unstated ? put_psb_before(capture, stream, stream->base, stream->base_time) : 0;
}

static int put_psb(struct record_capture *capture, struct record_stream *stream, uint64_t offset, uint64_t time)
{
	const int status = put_psb_before(capture, stream, offset, time);

	if (stream->unstated && offset >= stream->base)
		stop_waiting(capture, stream);
	if (status < 0 || offset < stream->base)
		return status;
	return record_output_check(&capture->output, ptl_writer_psb(capture->output.writer, stream->declared.id,
								    offset - stream->base, time));
}

/* Writes the stated PSBs before position `end`, whose file is known by now. */
static int put_psbs(struct record_capture *capture, struct record_stream *stream, uint64_t end)
{
	size_t left = 0;
	int status = 0;

	for (size_t i = 0; status == 0 && i < stream->psb_count; i++) {
		const struct ptl_psb stated = stream->psbs[i];

		if (stated.offset < end)
			status = put_psb(capture, stream, stated.offset, stated.time);
		else
			stream->psbs[left++] = stated;
	}
	stream->psb_count = left;
	return status;
}

static int put_now(struct record_capture *capture, struct record_stream *stream, const uint8_t *data, size_t size,
		   uint64_t time)
{
	int status = stream->declared.id == PTL_NO_ID ? record_streams_declare(capture, stream) : 0;

	if (status == 0)
		status = record_output_check(&capture->output, ptl_writer_bytes(capture->output.writer,
										stream->declared.id, data, size, time));
	return status < 0 ? status : put_psbs(capture, stream, UINT64_MAX);
}

/* Writes bytes before the PSB to the previous file. */
static int put_before(struct record_capture *capture, struct record_stream *stream, const uint8_t *data, size_t size,
		      uint64_t time)
{
	if (stream->skips)
		stream->skipped += size;
	if (stream->skips || !size)
		return 0;
	return record_output_check(&capture->rotation.before,
				   ptl_writer_bytes(capture->rotation.before.writer, stream->before, data, size, time));
}

static int lose_skipped(struct record_capture *capture, struct record_stream *stream, uint64_t time)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_BYTES,
		.stream = PTL_NO_ID,
		.pid = stream->declared.pid,
		.tid = stream->declared.tid,
		.count = 1,
		.bytes = stream->skipped,
		.first_time = time,
		.last_time = time,
		.cause = "packets came after the file that they belong to was closed (--mode)",
	};
	const bool any = stream->skipped != 0;

	stream->skipped = 0;
	return any ? record_capture_loss(capture, &loss) : 0;
}

/*
 * Begins the stream's part in the current file at `position`, with the held bytes. A PSB+ with a FUP also ends the part
 * in the previous file: the FUP tells how far the code ran there.
 */
static int divide(struct record_capture *capture, struct record_stream *stream, uint64_t position,
		  const struct format_pt_psb_plus *psb_plus, uint64_t time)
{
	const size_t at = (size_t)(position - (stream->taken - stream->held.size));
	const uint8_t *data = stream->held.data + at;
	const size_t size = stream->held.size - at;
	const bool repeats = stream->waits && psb_plus->complete && psb_plus->has_fup;
	const struct import_psb_clock clock = record_capture_psb_clock(capture, time);
	struct import_psb_past past = {.time = stream->psb_time};
	const uint64_t psb_time = import_psb_time(&clock, &past, data, size);
	int status = repeats ? put_before(capture, stream, data, psb_plus->size, time) : 0;

	if (status == 0)
		status = record_switches_put_before(capture, stream, psb_time ? psb_time : UINT64_MAX);

	stream->repeats = repeats;
	stream->unstated = stream->waits;
	stream->waits = stream->skips = false;
	stream->base = position;
	stream->base_time = psb_time ? psb_time : time;
	if (status == 0)
		status = lose_skipped(capture, stream, time);
	if (status == 0)
		status = put_now(capture, stream, data, size, time);
	common_bytes_free(&stream->held);
	return status;
}

/* Continues a waiting stream with the held and the new bytes. */
static int put_waiting(struct record_capture *capture, struct record_stream *stream, const void *data, size_t size,
		       uint64_t time)
{
	struct format_pt_psb_plus psb_plus;
	size_t at, rest;
	bool found;
	int status;

	common_write_bytes(&stream->held, data, size);
	if (stream->held.failed)
		return common_fail_memory("packets", size);
	stream->taken += size;
	at = ptl_pt_find_psb(stream->held.data, stream->held.size, 0);
	found = at < stream->held.size &&
		format_pt_psb_plus_read(stream->held.data + at, stream->held.size - at, &psb_plus);
	/* The PSB, or the rest of the PSB+, may be missing so far. */
	rest = stream->held.size - at;
	if (!rest)
		rest = at < PTL_PT_PSB_SIZE ? at : PTL_PT_PSB_SIZE - 1;
	at = stream->held.size - rest;
	status = put_before(capture, stream, stream->held.data, at, time);
	if (status == 0 && found)
		return divide(capture, stream, stream->taken - rest, &psb_plus, time);
	memmove(stream->held.data, stream->held.data + at, rest);
	stream->held.size = rest;
	return status;
}

int record_capture_pt(struct record_capture *capture, uint32_t id, const void *data, size_t size, uint64_t time)
{
	struct record_stream *stream = &capture->streams.list[id];

	capture->pt_bytes += size;
	stream->last_time = time;
	if (stream->waits || stream->skips)
		return put_waiting(capture, stream, data, size, time);
	stream->taken += size;
	return put_now(capture, stream, data, size, time);
}

/* Writes the held bytes to the previous file, because no PSB follows in them. */
static int put_held(struct record_capture *capture, struct record_stream *stream)
{
	int status = put_before(capture, stream, stream->held.data, stream->held.size, stream->last_time);

	stream->held.size = 0;
	if (!stream->waits)
		return status;
	stream->base = stream->taken;
	return status < 0 ? status : put_psbs(capture, stream, stream->taken);
}

struct import_psb_clock record_capture_psb_clock(struct record_capture *capture, uint64_t now)
{
	return (struct import_psb_clock){.machine = &capture->machine,
					 .earliest = capture->machine.start_time,
					 .latest = now,
					 .now = now,
					 .host = &capture->pt_host};
}

int record_capture_hole(struct record_capture *capture, uint32_t id, uint64_t size, uint64_t time)
{
	struct record_stream *stream = &capture->streams.list[id];
	int status = put_held(capture, stream);

	stream->taken += size;
	if (status < 0)
		return status;
	if (stream->waits)
		return record_output_check(&capture->rotation.before, ptl_writer_hole(capture->rotation.before.writer,
										      stream->before, size, time));
	if (!stream->skips && stream->declared.id != PTL_NO_ID)
		return record_output_check(&capture->output,
					   ptl_writer_hole(capture->output.writer, stream->declared.id, size, time));
	stream->base += stream->skips ? 0 : size;
	return 0;
}

int record_capture_psb(struct record_capture *capture, uint32_t id, uint64_t offset, uint64_t time)
{
	struct record_stream *stream = &capture->streams.list[id];

	stream->psb_time = time;
	if (!stream->waits && !stream->skips && stream->declared.id != PTL_NO_ID)
		return put_psb(capture, stream, offset, time);
	/* A source may state a PSB before the PSB's bytes arrive. */
	if (COMMON_VECTOR_RESERVE(stream->psbs, stream->psb_capacity, stream->psb_count + 1, "PSBs"))
		return PTL_NO_MEMORY;
	stream->psbs[stream->psb_count++] = (struct ptl_psb){offset, time};
	return 0;
}

int record_capture_end_stream(struct record_capture *capture, uint32_t id)
{
	struct record_stream *stream;
	int status;

	/* A thread whose start failed has no stream. */
	if (id >= capture->streams.count)
		return 0;
	stream = &capture->streams.list[id];
	status = put_held(capture, stream);
	if (status == 0)
		status = put_unstated(capture, stream);
	stop_waiting(capture, stream);
	stream->ended = true;
	common_bytes_free(&stream->held);
	return status < 0 ? status : lose_skipped(capture, stream, stream->last_time);
}

/* --- from file to file -------------------------------------------------------------------------------- */

/* Continues a stream of packets after a switch. A stream without packets in the previous file does not wait. */
static void begin_waiting(struct record_capture *capture, struct record_stream *stream)
{
	stream->before = stream->declared.id;
	stream->base_before = stream->base;
	stream->declared.id = PTL_NO_ID;
	if (stream->ended || stream->skips)
		return;
	stream->waits = stream->taken > stream->base;
	capture->streams.waiting += stream->waits;
	if (!stream->waits)
		stream->base = stream->taken;
}

int record_streams_go_on(struct record_capture *capture)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < capture->streams.count; i++) {
		struct record_stream *stream = &capture->streams.list[i];

		if (stream->declared.kind == PTL_KIND_PT) {
			begin_waiting(capture, stream);
			continue;
		}
		stream->before = stream->declared.id;
		status = record_streams_declare(capture, stream);
	}
	return status;
}

int record_streams_leave_before(struct record_capture *capture, bool last)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < capture->streams.count; i++) {
		struct record_stream *stream = &capture->streams.list[i];

		if (stream->waits) {
			status = put_held(capture, stream);
			if (status == 0)
				status = record_switches_put_before(capture, stream, UINT64_MAX);
			stream->skips = !last;
		} else {
			status = put_unstated(capture, stream);
		}
		stop_waiting(capture, stream);
		stream->before = PTL_NO_ID;
	}
	return status;
}
