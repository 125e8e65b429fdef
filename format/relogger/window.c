/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The window of events injected out of order. These events go to streams of their own, in order of time; the reader
 * merges the streams.
 */
#include "format/relogger/window.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/heap.h"
#include "common/vector.h"
#include "format/event/event_pack.h"
#include "format/relogger/relogger_internal.h"

static bool before(const struct format_waiting *a, const struct format_waiting *b)
{
	return a->time < b->time || (a->time == b->time && a->number < b->number);
}

COMMON_HEAP(waiting, struct format_waiting, before)

/*
 * Returns the window's stream that stays in order with an event of this time; of several, the stream with the latest
 * end. NULL if none.
 */
static struct format_window_stream *find_stream(struct format_window *window, uint64_t time)
{
	struct format_window_stream *found = NULL;

	for (size_t i = 0; i < window->stream_count; i++) {
		struct format_window_stream *stream = &window->streams[i];

		if (stream->written <= time && (!found || stream->written > found->written))
			found = stream;
	}
	return found;
}

static int declare(struct ptl_relogger *relogger, struct format_window_stream **result)
{
	struct ptl_stream stream = {.kind = PTL_KIND_EVENTS, .cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	const int status = ptl_writer_stream(relogger->writer, &stream);

	if (status)
		return status;
	*result = &relogger->output.window.streams[relogger->output.window.stream_count++];
	(*result)->id = stream.id;
	return 0;
}

/* Writes the earliest event. */
static int write_first(struct ptl_relogger *relogger)
{
	struct format_window *window = &relogger->output.window;
	struct format_waiting first = window->heap[0];
	struct ptl_event event = format_event_unpack(first.data);
	struct format_window_stream *stream = find_stream(window, first.time);
	int status = stream ? 0 : declare(relogger, &stream);

	if (!status)
		status = ptl_writer_event(relogger->writer, stream->id, &event);
	if (status)
		return status;
	relogger->counts.events_written++;
	stream->written = first.time;
	window->bytes -= first.size;
	free(first.data);
	window->heap[0] = window->heap[--window->count];
	waiting_sink(window->heap, window->count, 0);
	return 0;
}

/* Returns the earliest end of all streams. An event from this time on needs no additional stream. */
static uint64_t least_written(const struct format_window *window)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < window->stream_count; i++)
		least = window->streams[i].written < least ? window->streams[i].written : least;
	return least;
}

static int check_time(struct ptl_relogger *relogger, const struct ptl_event *event)
{
	struct format_window *window = &relogger->output.window;
	const uint64_t bound = relogger->options.window_time;

	if (bound && relogger->current.stream && event->time < relogger->current.time &&
	    relogger->current.time - event->time > bound)
		return common_fail(PTL_MISUSE,
				   "an event injected at %" PRIu64 " ns lies more than the window of %" PRIu64
				   " ns before the current one at %" PRIu64 " ns",
				   event->time, bound, relogger->current.time);
	if (window->stream_count == window->stream_limit && !find_stream(window, event->time))
		return common_fail(PTL_MISUSE,
				   "an event injected at %" PRIu64 " ns comes too late: injected events up to %" PRIu64
				   " ns have left the reorder window",
				   event->time, least_written(window));
	return 0;
}

static bool is_full(const struct ptl_relogger *relogger)
{
	return relogger->output.window.count > relogger->options.window_events ||
	       relogger->output.window.bytes > relogger->options.window_bytes;
}

int format_window_add(struct ptl_relogger *relogger, const struct ptl_event *event)
{
	struct format_window *window = &relogger->output.window;
	struct format_waiting added = {.time = event->time, .number = window->number};
	int status = check_time(relogger, event);

	if (status)
		return status;
	if (!common_vector_room(&window->heap, window->count, sizeof(*window->heap)))
		return common_fail_memory("the reorder window", window->count * sizeof(added));
	added.size = format_event_pack_size(event);
	added.data = malloc(added.size);
	if (!added.data)
		return common_fail_memory("an event", added.size);
	format_event_pack(event, added.data);
	window->number++;
	window->bytes += added.size;
	window->heap[window->count++] = added;
	waiting_rise(window->heap, window->count - 1);
	while (!status && window->count && is_full(relogger))
		status = write_first(relogger);
	return status;
}

int format_window_flush(struct ptl_relogger *relogger, uint64_t until)
{
	int status = 0;

	while (!status && relogger->output.window.count && relogger->output.window.heap[0].time <= until)
		status = write_first(relogger);
	return status;
}

void format_window_free(struct format_window *window)
{
	for (size_t i = 0; i < window->count; i++)
		free(window->heap[i].data);
	free(window->heap);
	*window = (struct format_window){.heap = NULL};
}
