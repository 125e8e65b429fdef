/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams of a capture, through all files of a series. */
#include "record/capture/streams.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"
#include "format/writer/records.h"
#include "format/writer/room.h"
#include "record/capture/capture.h"
#include "record/capture/event_watch.h"

/* Percentage of the room for metadata that stays free of records of streams. */
#define ROOM_LEFT 50

/*
 * Declares a stream quietly if little room for metadata is left: each thread has a stream, and very many streams must
 * leave room for other metadata.
 */
static int declare_in(struct record_output *output, struct ptl_stream *stream)
{
	return record_output_check(output, format_writer_has_room(output->writer, ROOM_LEFT)
						   ? ptl_writer_stream(output->writer, stream)
						   : format_writer_stream_quietly(output->writer, stream));
}

int record_streams_declare(struct record_capture *capture, struct record_stream *stream)
{
	return declare_in(&capture->output, &stream->declared);
}

int record_capture_stream(struct record_capture *capture, const struct ptl_stream *wanted, uint32_t *id)
{
	struct record_stream *stream;
	int status;

	if (COMMON_VECTOR_RESERVE(capture->streams.list, capture->streams.capacity, capture->streams.count + 1,
				  "streams"))
		return PTL_NO_MEMORY;
	*id = (uint32_t)capture->streams.count;
	stream = &capture->streams.list[capture->streams.count];
	*stream = (struct record_stream){.declared = *wanted, .before = PTL_NO_ID, .switches_in = PTL_NO_ID};
	status = record_streams_declare(capture, stream);
	capture->streams.count += status == 0;
	return status;
}

/* Declares the stream in the previous file too: packets of a new process may still go there. */
int record_capture_event_stream(struct record_capture *capture, uint32_t *id)
{
	const struct ptl_stream stream = {
		.kind = PTL_KIND_EVENTS, .cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	struct ptl_stream in_before = stream;
	int status = record_capture_stream(capture, &stream, id);

	if (status < 0 || !capture->rotation.before.writer)
		return status;
	status = declare_in(&capture->rotation.before, &in_before);
	capture->streams.list[*id].before = in_before.id;
	return status;
}

int record_capture_thread(struct record_capture *capture, uint32_t pid, uint32_t tid, uint32_t *id)
{
	const struct ptl_stream stream = {.kind = PTL_KIND_PT, .cpu = PTL_NO_CPU, .pid = pid, .tid = tid};

	return record_capture_stream(capture, &stream, id);
}

void record_streams_free(struct record_capture *capture)
{
	for (size_t i = 0; i < capture->streams.count; i++) {
		common_bytes_free(&capture->streams.list[i].held);
		free(capture->streams.list[i].switches.ring);
		free(capture->streams.list[i].psbs);
	}
	free(capture->streams.list);
	free(capture->streams.pairs);
	capture->streams = (struct record_streams){NULL};
}

/* --- events ------------------------------------------------------------------------------------------- */

/* Writes an event that packets in the previous file need to the previous file. */
int record_streams_put_before(struct record_capture *capture, uint32_t id, const struct ptl_event *event)
{
	const struct record_stream *stream = &capture->streams.list[id];

	if (!capture->rotation.before.writer || stream->before == PTL_NO_ID)
		return 0;
	return record_output_check(&capture->rotation.before,
				   ptl_writer_event(capture->rotation.before.writer, stream->before, event));
}

int record_capture_put(struct record_capture *capture, uint32_t id, const struct ptl_event *event)
{
	return record_output_check(&capture->output, ptl_writer_event(capture->output.writer,
								      capture->streams.list[id].declared.id, event));
}

int record_streams_event(struct record_capture *capture, uint32_t id, const struct ptl_event *event)
{
	struct ptl_event later = *event;
	int status = record_streams_put_before(capture, id, event);

	/* A late report of older code gets a time behind the beginning of this file. */
	if (later.time <= capture->rotation.file_start && capture->rotation.file_start)
		later.time = capture->rotation.file_start + 1;
	return status < 0 ? status : record_capture_put(capture, id, &later);
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
	return !capture->watch && !capture->filter.current.asks && !capture->filter.before.asks;
}

int record_capture_records(struct record_capture *capture, uint32_t stream, const struct format_event_record *records,
			   size_t count)
{
	const uint32_t id = capture->streams.list[stream].declared.id;

	capture->events += count;
	return record_output_check(&capture->output, format_writer_records(capture->output.writer, id, records, count));
}

static int add_pair(struct record_capture *capture)
{
	uint32_t *pair;
	int status = 0;

	if (COMMON_VECTOR_RESERVE(capture->streams.pairs, capture->streams.pair_capacity,
				  capture->streams.pair_count + 1, "event streams"))
		return PTL_NO_MEMORY;
	pair = capture->streams.pairs[capture->streams.pair_count];
	for (int part = 0; status == 0 && part < RECORD_PARTS; part++)
		status = record_capture_event_stream(capture, &pair[part]);
	capture->streams.pair_count += status == 0;
	return status;
}

int record_streams_model_event(struct record_capture *capture, uint32_t pair, enum record_part part,
			       const struct ptl_event *event)
{
	int status = 0;

	while (status == 0 && pair >= capture->streams.pair_count)
		status = add_pair(capture);
	return status < 0 ? status : record_streams_event(capture, capture->streams.pairs[pair][part], event);
}

/* --- losses ------------------------------------------------------------------------------------------- */

/* Writes the loss to the file that would have the lost data. */
int record_streams_loss(struct record_capture *capture, const struct ptl_loss *loss)
{
	struct ptl_loss mapped = *loss;
	struct record_output *output = &capture->output;

	if (loss->stream < capture->streams.count) {
		const struct record_stream *stream = &capture->streams.list[loss->stream];

		output = stream->waits ? &capture->rotation.before : &capture->output;
		mapped.stream = stream->waits ? stream->before : stream->declared.id;
	}
	return record_output_check(output, ptl_writer_loss(output->writer, &mapped));
}
