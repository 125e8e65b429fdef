/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes events of an import: assigns streams, and makes events of perf's own provider. */
#include <string.h>

#include "common/error.h"
#include "import/perf/import.h"
#include "perf/schemas.h"

int perf_event_schemas(struct perf_import *import)
{
	int status = 0;

	for (size_t i = 0; !status && i < perf_schema_count; i++)
		status = ptl_writer_schema(import->writer, &perf_schemas[i]);
	return status;
}

uint64_t perf_time(const struct perf_import *import, const struct perf_sample *sample)
{
	if (sample->has_time && sample->time)
		return sample->time;
	return import->series_count ? import->series_start : import->machine.start_time;
}

bool perf_is_rundown(const struct perf_import *import, const struct perf_sample *sample)
{
	return sample->has_time ? !sample->time : !import->running;
}

/*
 * Finds a stream for an event. perf.data is sorted by time only within a ring buffer. The event goes to the stream with
 * the latest end before the event, or to a new stream. So there are at most as many streams as rings, and no event
 * waits in memory.
 */
static int find_lane(struct perf_import *import, uint64_t time, struct perf_lane **found)
{
	struct perf_lane *best = NULL, *earliest = NULL;
	struct ptl_stream stream = {.kind = PTL_KIND_EVENTS, .cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	int status;

	for (size_t i = 0; i < import->lane_count; i++) {
		struct perf_lane *lane = &import->lanes[i];

		if (lane->last <= time && (!best || lane->last > best->last))
			best = lane;
		if (!earliest || lane->last < earliest->last)
			earliest = lane;
	}
	if (!best && import->lane_count == PERF_LANES_MAX)
		best = earliest; /* times then go back in this stream, unchanged */
	if (best) {
		*found = best;
		return 0;
	}
	status = ptl_writer_stream(import->writer, &stream);
	if (status)
		return status;
	*found = &import->lanes[import->lane_count++];
	**found = (struct perf_lane){.stream = stream.id};
	return 0;
}

int perf_event_write(struct perf_import *import, struct ptl_event *event)
{
	struct perf_lane *lane;
	int status;

	if (event->payload_size > PTL_PAYLOAD_MAX) {
		import->outcome.large_events++;
		return 0;
	}
	status = find_lane(import, event->time, &lane);
	if (status)
		return status;
	lane->last = event->time;
	return ptl_writer_event(import->writer, lane->stream, event);
}

int perf_event_write_storage(struct perf_import *import, struct ptl_event *event)
{
	const struct ptl_bytes *storage = &import->storage;

	if (storage->failed)
		return common_fail_memory("a sample", storage->size);
	event->payload = storage->data;
	event->payload_size = storage->size;
	return perf_event_write(import, event);
}

/* Sets pid and tid. User code of process 0 belongs to a process outside the recorder's pid namespace. */
static void set_thread(const struct perf_sample *sample, struct ptl_event *event)
{
	const bool outside = sample->user && sample->pid == 0;

	event->pid = outside ? PTL_NO_ID : sample->pid;
	event->tid = outside ? PTL_NO_ID : sample->tid;
}

struct ptl_event perf_event_of(const struct perf_import *import, uint16_t id, const struct perf_sample *sample)
{
	struct ptl_event event = {
		.descriptor = {.provider = perf_provider, .id = id, .level = 4},
		.time = perf_time(import, sample),
		.cpu = sample->cpu,
	};

	set_thread(sample, &event);
	return event;
}

/*
 * Returns the size of a record's body without padding. The last field, a string, is padded with zeros to a multiple of
 * 8 bytes.
 */
static size_t without_padding(const struct perf_record *record, size_t body)
{
	static const uint8_t fixed[PERF_RECORD_KERNEL_END] = {
		[PERF_RECORD_MMAP] = 32,    [PERF_RECORD_COMM] = 8,   [PERF_RECORD_MMAP2] = 64,
		[PERF_RECORD_KSYMBOL] = 16, [PERF_RECORD_CGROUP] = 8,
	};
	const size_t start = record->type < PERF_RECORD_KERNEL_END ? fixed[record->type] : 0;
	size_t length;

	if (!start || body <= start)
		return body;
	length = strnlen((const char *)record->body + start, body - start);
	return start + length + (length < body - start);
}

int perf_event_keep(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		    size_t body)
{
	struct ptl_event event = perf_event_of(import, (uint16_t)record->type, sample);

	event.payload = record->body;
	event.payload_size = without_padding(record, body);
	return perf_event_write(import, &event);
}
