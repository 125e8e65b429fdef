/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the stream of an event. */
#include "record/provider/ordered_streams.h"

static int write_unordered(struct record_ordered_streams *streams, const struct ptl_event *event)
{
	int status = 0;

	if (!streams->has_unordered) {
		status = record_capture_event_stream(streams->capture, &streams->unordered);
		streams->has_unordered = status == 0;
	}
	return status == 0 ? record_capture_event(streams->capture, streams->unordered, event) : status;
}

int record_ordered_streams_write(struct record_ordered_streams *streams, const struct ptl_event *event, bool ordered)
{
	unsigned i = 0;
	int status = 0;

	if (!ordered)
		return write_unordered(streams, event);
	while (i < streams->count && streams->streams[i].time > event->time)
		i++;
	if (i == RECORD_ORDERED_STREAMS_MAX)
		return write_unordered(streams, event);
	if (i == streams->count) {
		status = record_capture_event_stream(streams->capture, &streams->streams[i].stream);
		if (status < 0)
			return status;
		streams->count++;
	}
	streams->streams[i].time = event->time;
	return record_capture_event(streams->capture, streams->streams[i].stream, event);
}
