/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts events into as few streams as they need for time to go up in each. */
#ifndef RECORD_PROVIDER_ORDERED_STREAMS_H
#define RECORD_PROVIDER_ORDERED_STREAMS_H

#include <stdbool.h>

#include "record/capture/capture.h"

/*
 * Events come nearly in order of time: one that a thread published late goes to the first stream
 * whose last event is no later. So events of a thread with the same time stay in their order, too:
 * a reader takes those of a lower stream first.
 */
#define RECORD_ORDERED_STREAMS_MAX 16

struct record_ordered_streams {
	struct record_capture *capture;
	struct {
		uint32_t stream;
		uint64_t time;
	} streams[RECORD_ORDERED_STREAMS_MAX];
	unsigned count;
	bool has_unordered;
	uint32_t unordered; /* stream of events whose times are in no order */
};

/* ordered: the time is when the event was written. 0, or PTL_NO_MEMORY. */
int record_ordered_streams_write(struct record_ordered_streams *streams, const struct ptl_event *event, bool ordered);

#endif
