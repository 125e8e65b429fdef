/* SPDX-License-Identifier: BSD-2-Clause */
/* Continues streams from file to file. Packets are divided at the beginning of a PSB. */
#include <stdlib.h>
#include <string.h>

#include <ptl/pt.h>

#include "common/error.h"
#include "common/vector.h"
#include "format/pt/psb_plus.h"
#include "format/writer/records.h"
#include "format/writer/room.h"
#include "import/psb_time.h"
#include "record/capture/capture_state.h"
#include "record/capture/event_watch.h"

/* ---- the list -------------------------------------------------------------------------------- */

/*
 * Declares a stream quietly if little room for metadata is left: each thread has a stream, and very many streams must
 * leave room for other metadata.
 */
static int declare_in(struct record_output *output, struct ptl_stream *stream)
{
	return record_output_check(output, format_writer_has_room(output->writer, RECORD_ROOM_STREAMS)
						   ? ptl_writer_stream(output->writer, stream)
						   : format_writer_stream_quietly(output->writer, stream));
}

static int declare(struct record_capture *capture, struct record_stream *stream)
{
	return declare_in(&capture->output, &stream->declared);
}

int record_capture_stream(struct record_capture *capture, const struct ptl_stream *wanted, uint32_t *id)
{
	struct record_stream *stream;
	int status;

	if (COMMON_VECTOR_RESERVE(capture->streams, capture->stream_capacity, capture->stream_count + 1, "streams"))
		return PTL_NO_MEMORY;
	*id = (uint32_t)capture->stream_count;
	stream = &capture->streams[capture->stream_count];
	*stream = (struct record_stream){.declared = *wanted, .before = PTL_NO_ID, .switches_in = PTL_NO_ID};
	status = declare(capture, stream);
	capture->stream_count += status == 0;
	return status;
}

/* Declares the stream in the previous file too: packets of a new process may still go there. */
int record_capture_event_stream(struct record_capture *capture, uint32_t *id)
{
	const struct ptl_stream stream = {
		.kind = PTL_KIND_EVENTS, .cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	struct ptl_stream in_before = stream;
	int status = record_capture_stream(capture, &stream, id);

	if (status < 0 || !capture->before.writer)
		return status;
	status = declare_in(&capture->before, &in_before);
	capture->streams[*id].before = in_before.id;
	return status;
}

int record_capture_thread(struct record_capture *capture, uint32_t pid, uint32_t tid, uint32_t *id)
{
	const struct ptl_stream stream = {.kind = PTL_KIND_PT, .cpu = PTL_NO_CPU, .pid = pid, .tid = tid};

	return record_capture_stream(capture, &stream, id);
}

void record_streams_free(struct record_capture *capture)
{
	for (size_t i = 0; i < capture->stream_count; i++) {
		common_bytes_free(&capture->streams[i].held);
		free(capture->streams[i].switches);
		free(capture->streams[i].psbs);
	}
	free(capture->streams);
	capture->streams = NULL;
	capture->stream_count = capture->stream_capacity = 0;
}

/* ---- context switches ------------------------------------------------------------------------ */

/* Writes an event that packets in the previous file need to the previous file. */
static int put_in_before(struct record_capture *capture, uint32_t id, const struct ptl_event *event)
{
	const struct record_stream *stream = &capture->streams[id];

	if (!capture->before.writer || stream->before == PTL_NO_ID)
		return 0;
	return record_output_check(&capture->before, ptl_writer_event(capture->before.writer, stream->before, event));
}

static struct record_switch *switch_at(const struct record_stream *stream, size_t n)
{
	return &stream->switches[(stream->switch_first + n) % RECORD_SWITCHES_MAX];
}

static int keep_switch(struct record_capture *capture, uint32_t id, bool waits, const struct ptl_event *event)
{
	struct record_stream *stream = &capture->streams[id];
	struct record_switch *kept;
	int status = 0;

	if (event->payload_size > RECORD_SWITCH_PAYLOAD_MAX)
		return 0;
	if (!stream->switches)
		stream->switches = calloc(RECORD_SWITCHES_MAX, sizeof(*stream->switches));
	if (!stream->switches)
		return common_fail_memory("context switches", RECORD_SWITCHES_MAX * sizeof(*stream->switches));
	if (stream->switch_count == RECORD_SWITCHES_MAX) {
		kept = switch_at(stream, 0);
		status = kept->waits ? put_in_before(capture, id, &kept->event) : 0;
		stream->switch_first = (stream->switch_first + 1) % RECORD_SWITCHES_MAX;
		stream->switch_count--;
	}
	kept = switch_at(stream, stream->switch_count++);
	kept->event = *event;
	kept->event.payload = kept->payload;
	kept->event.extended_count = 0;
	memcpy(kept->payload, event->payload, event->payload_size);
	kept->waits = waits;
	return status;
}

/* Writes switches up to `until` to the previous file. Later switches would wrongly apply to the last packets there. */
static int put_switches_before(struct record_capture *capture, const struct record_stream *packets, uint64_t until)
{
	const struct record_stream *stream;
	int status = 0;

	if (packets->switches_in == PTL_NO_ID)
		return 0;
	stream = &capture->streams[packets->switches_in];
	for (size_t i = 0; status == 0 && i < stream->switch_count; i++) {
		struct record_switch *kept = switch_at(stream, i);

		if (kept->waits && kept->event.time <= until)
			status = put_in_before(capture, packets->switches_in, &kept->event);
		kept->waits = false;
	}
	return status;
}

/* ---- packets --------------------------------------------------------------------------------- */

static int put_psb_before(struct record_capture *capture, const struct record_stream *stream, uint64_t offset,
			  uint64_t time)
{
	const bool is_there = offset < stream->base || (offset == stream->base && stream->repeats);

	if (!is_there || !capture->before.writer || stream->before == PTL_NO_ID || offset < stream->base_before)
		return 0;
	return record_output_check(&capture->before, ptl_writer_psb(capture->before.writer, stream->before,
								    offset - stream->base_before, time));
}

/* Notes that the stream's part in the previous file is complete. */
static void stop_waiting(struct record_capture *capture, struct record_stream *stream)
{
	capture->waiting -= stream->waits || stream->unstated;
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
	int status = stream->declared.id == PTL_NO_ID ? declare(capture, stream) : 0;

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
	return record_output_check(&capture->before,
				   ptl_writer_bytes(capture->before.writer, stream->before, data, size, time));
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
	uint64_t psb_time = UINT64_MAX;
	int status = repeats ? put_before(capture, stream, data, psb_plus->size, time) : 0;

	if (import_psb_time(&capture->machine, data, size, &psb_time) != IMPORT_PSB_TIMED)
		psb_time = UINT64_MAX;
	if (status == 0)
		status = put_switches_before(capture, stream, psb_time);

	stream->repeats = repeats;
	stream->unstated = stream->waits;
	stream->waits = stream->skips = false;
	stream->base = position;
	stream->base_time = psb_time == UINT64_MAX ? time : psb_time;
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
	struct record_stream *stream = &capture->streams[id];

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

int record_capture_hole(struct record_capture *capture, uint32_t id, uint64_t size, uint64_t time)
{
	struct record_stream *stream = &capture->streams[id];
	int status = put_held(capture, stream);

	stream->taken += size;
	if (status < 0)
		return status;
	if (stream->waits)
		return record_output_check(&capture->before,
					   ptl_writer_hole(capture->before.writer, stream->before, size, time));
	if (!stream->skips && stream->declared.id != PTL_NO_ID)
		return record_output_check(&capture->output,
					   ptl_writer_hole(capture->output.writer, stream->declared.id, size, time));
	stream->base += stream->skips ? 0 : size;
	return 0;
}

int record_capture_psb(struct record_capture *capture, uint32_t id, uint64_t offset, uint64_t time)
{
	struct record_stream *stream = &capture->streams[id];

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
	if (id >= capture->stream_count)
		return 0;
	stream = &capture->streams[id];
	status = put_held(capture, stream);
	if (status == 0)
		status = put_unstated(capture, stream);
	stop_waiting(capture, stream);
	stream->ended = true;
	common_bytes_free(&stream->held);
	return status < 0 ? status : lose_skipped(capture, stream, stream->last_time);
}

/* ---- events ---------------------------------------------------------------------------------- */

int record_capture_put(struct record_capture *capture, uint32_t id, const struct ptl_event *event)
{
	return record_output_check(&capture->output,
				   ptl_writer_event(capture->output.writer, capture->streams[id].declared.id, event));
}

int record_streams_event(struct record_capture *capture, uint32_t id, const struct ptl_event *event)
{
	struct ptl_event later = *event;
	int status = put_in_before(capture, id, event);

	/* A late report of older code gets a time behind the beginning of this file. */
	if (later.time <= capture->file_start && capture->file_start)
		later.time = capture->file_start + 1;
	return status < 0 ? status : record_capture_put(capture, id, &later);
}

int record_capture_switch(struct record_capture *capture, uint32_t id, uint32_t packets, const struct ptl_event *event)
{
	int status = record_capture_put(capture, id, event);

	if (status < 0 || !capture->series)
		return status;
	capture->streams[packets].switches_in = id;
	return keep_switch(capture, id, capture->streams[packets].waits, event);
}

int record_capture_event(struct record_capture *capture, uint32_t stream, const struct ptl_event *event)
{
	int status = 0;

	if (capture->watch) {
		const struct record_asked_event asked_event = record_capture_asked(capture, event);

		status = record_event_watch_event(capture->watch, &asked_event);
	}
	capture->events++;
	return status < 0 ? status : record_capture_put(capture, stream, event);
}

bool record_capture_takes_records(const struct record_capture *capture)
{
	return !capture->watch && !capture->filter.asks && !capture->filter_before.asks;
}

int record_capture_records(struct record_capture *capture, uint32_t stream, const struct format_event_record *records,
			   size_t count)
{
	const uint32_t id = capture->streams[stream].declared.id;

	capture->events += count;
	return record_output_check(&capture->output, format_writer_records(capture->output.writer, id, records, count));
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* Writes the loss to the file that would have the lost data. */
int record_streams_loss(struct record_capture *capture, const struct ptl_loss *loss)
{
	struct ptl_loss mapped = *loss;
	struct record_output *output = &capture->output;

	if (loss->stream < capture->stream_count) {
		const struct record_stream *stream = &capture->streams[loss->stream];

		output = stream->waits ? &capture->before : &capture->output;
		mapped.stream = stream->waits ? stream->before : stream->declared.id;
	}
	return record_output_check(output, ptl_writer_loss(output->writer, &mapped));
}

/* ---- from file to file ----------------------------------------------------------------------- */

/* Continues a stream of packets after a switch. A stream without packets in the previous file does not wait. */
static void begin_waiting(struct record_capture *capture, struct record_stream *stream)
{
	stream->before = stream->declared.id;
	stream->base_before = stream->base;
	stream->declared.id = PTL_NO_ID;
	if (stream->ended || stream->skips)
		return;
	stream->waits = stream->taken > stream->base;
	capture->waiting += stream->waits;
	if (!stream->waits)
		stream->base = stream->taken;
}

int record_streams_go_on(struct record_capture *capture)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < capture->stream_count; i++) {
		struct record_stream *stream = &capture->streams[i];

		if (stream->declared.kind == PTL_KIND_PT) {
			begin_waiting(capture, stream);
			continue;
		}
		stream->before = stream->declared.id;
		status = declare(capture, stream);
	}
	return status;
}

int record_streams_write_switches(struct record_capture *capture)
{
	int status = 0;

	for (size_t i = 0; i < capture->stream_count; i++)
		for (size_t n = 0; status == 0 && n < capture->streams[i].switch_count; n++)
			status = record_capture_put(capture, (uint32_t)i, &switch_at(&capture->streams[i], n)->event);
	return status;
}

int record_streams_leave_before(struct record_capture *capture, bool last)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < capture->stream_count; i++) {
		struct record_stream *stream = &capture->streams[i];

		if (stream->waits) {
			status = put_held(capture, stream);
			if (status == 0)
				status = put_switches_before(capture, stream, UINT64_MAX);
			stream->skips = !last;
		} else {
			status = put_unstated(capture, stream);
		}
		stop_waiting(capture, stream);
		stream->before = PTL_NO_ID;
	}
	return status;
}
