/* SPDX-License-Identifier: BSD-2-Clause */
/* The window of events injected out of order. */
#ifndef FORMAT_RELOGGER_WINDOW_H
#define FORMAT_RELOGGER_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/relogger.h>

/* A stream of the output for out-of-order events. */
struct format_window_stream {
	uint32_t id;
	uint64_t written; /* time of the last event */
};

/*
 * Most streams of the window of a trace that is being written. The window cannot wait to the trace's end, so late
 * events go to additional streams.
 */
#define FORMAT_WINDOW_STREAMS 64

/* An event waiting in the window. */
struct format_waiting {
	uint64_t time;
	uint64_t number; /* order of injection */
	uint8_t *data;   /* packed by format_event_pack */
	size_t size;
};

struct format_window {
	struct format_waiting *heap; /* the earliest event is first */
	size_t count;
	size_t bytes;
	uint64_t number;
	struct format_window_stream streams[FORMAT_WINDOW_STREAMS];
	size_t stream_count; /* number of declared streams */
	size_t stream_limit;
};

/* Adds an event that is out of order. PTL_MISUSE if the window's limits are exceeded. */
int format_window_add(struct ptl_relogger *relogger, const struct ptl_event *event);
/* Writes the waiting events up to the time `until`. */
int format_window_flush(struct ptl_relogger *relogger, uint64_t until);
void format_window_free(struct format_window *window);

#endif
