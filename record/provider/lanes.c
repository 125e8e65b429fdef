/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses streams. */
#include "record/provider/lanes.h"

static int write_unordered(struct record_lanes *lanes, const struct ptl_event *event)
{
	int status = 0;

	if (!lanes->has_unordered) {
		status = record_capture_event_stream(lanes->capture, &lanes->unordered);
		lanes->has_unordered = status == 0;
	}
	return status == 0 ? record_capture_event(lanes->capture, lanes->unordered, event) : status;
}

int record_lanes_write(struct record_lanes *lanes, const struct ptl_event *event, bool ordered)
{
	unsigned i = 0;
	int status = 0;

	if (!ordered)
		return write_unordered(lanes, event);
	while (i < lanes->count && lanes->lanes[i].time > event->time)
		i++;
	if (i == RECORD_LANES_MAX)
		return write_unordered(lanes, event);
	if (i == lanes->count) {
		status = record_capture_event_stream(lanes->capture, &lanes->lanes[i].stream);
		if (status < 0)
			return status;
		lanes->count++;
	}
	lanes->lanes[i].time = event->time;
	return record_capture_event(lanes->capture, lanes->lanes[i].stream, event);
}
