/* SPDX-License-Identifier: BSD-2-Clause */
/* Context switches that two files of a series need. */
#include "record/capture/switches.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "record/capture/capture.h"

static struct record_switch *switch_at(const struct record_stream *stream, size_t n)
{
	return &stream->switches.ring[(stream->switches.first + n) % RECORD_SWITCHES_MAX];
}

static int keep_switch(struct record_capture *capture, uint32_t id, bool waits, const struct ptl_event *event)
{
	struct record_stream *stream = &capture->streams.list[id];
	struct record_switch *kept;
	int status = 0;

	if (event->payload_size > RECORD_SWITCH_PAYLOAD_MAX)
		return 0;
	if (!stream->switches.ring)
		stream->switches.ring = calloc(RECORD_SWITCHES_MAX, sizeof(*stream->switches.ring));
	if (!stream->switches.ring)
		return common_fail_memory("context switches", RECORD_SWITCHES_MAX * sizeof(*stream->switches.ring));
	if (stream->switches.count == RECORD_SWITCHES_MAX) {
		kept = switch_at(stream, 0);
		status = kept->waits ? record_streams_put_before(capture, id, &kept->event) : 0;
		stream->switches.first = (stream->switches.first + 1) % RECORD_SWITCHES_MAX;
		stream->switches.count--;
	}
	kept = switch_at(stream, stream->switches.count++);
	kept->event = *event;
	kept->event.payload = kept->payload;
	kept->event.extended_count = 0;
	memcpy(kept->payload, event->payload, event->payload_size);
	kept->waits = waits;
	return status;
}

int record_switches_put_before(struct record_capture *capture, const struct record_stream *packets, uint64_t until)
{
	const struct record_stream *stream;
	int status = 0;

	if (packets->switches_in == PTL_NO_ID)
		return 0;
	stream = &capture->streams.list[packets->switches_in];
	for (size_t i = 0; status == 0 && i < stream->switches.count; i++) {
		struct record_switch *kept = switch_at(stream, i);

		if (kept->waits && kept->event.time <= until)
			status = record_streams_put_before(capture, packets->switches_in, &kept->event);
		kept->waits = false;
	}
	return status;
}

int record_capture_switch(struct record_capture *capture, uint32_t id, uint32_t packets, const struct ptl_event *event)
{
	int status = record_capture_put(capture, id, event);

	if (status < 0 || !capture->series)
		return status;
	capture->streams.list[packets].switches_in = id;
	return keep_switch(capture, id, capture->streams.list[packets].waits, event);
}

int record_switches_repeat(struct record_capture *capture)
{
	int status = 0;

	for (size_t i = 0; i < capture->streams.count; i++)
		for (size_t n = 0; status == 0 && n < capture->streams.list[i].switches.count; n++)
			status = record_capture_put(capture, (uint32_t)i,
						    &switch_at(&capture->streams.list[i], n)->event);
	return status;
}
