/* SPDX-License-Identifier: BSD-2-Clause */
/* Distributes events to few streams, so that times never decrease in a stream. */
#ifndef RECORD_PROVIDER_ORDERED_STREAMS_H
#define RECORD_PROVIDER_ORDERED_STREAMS_H

#include <stdbool.h>

#include "record/capture/capture.h"

/*
 * Events arrive nearly sorted by time. A late event goes to the first stream whose last event is not later. Events of a
 * thread with equal times keep their order: readers take events of a lower stream first.
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
	uint32_t unordered; /* stream of events with arbitrary times */
};

/* ordered: the event's time is the time of writing. Returns 0 or PTL_NO_MEMORY. */
int record_ordered_streams_write(struct record_ordered_streams *streams, const struct ptl_event *event, bool ordered);

#endif
