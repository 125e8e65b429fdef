/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of an import: in which stream they go, and those that perf alone has. */
#include <string.h>

#include "common/error.h"
#include "import/perf/import.h"
#include "import/perf/schemas.h"
#include "import/perf/stack.h"

#define EXTENDED_MAX 4

int perf_event_schemas(struct perf_import *import)
{
	int status = 0;

	for (size_t i = 0; !status && i < perf_schema_count; i++)
		status = ptl_writer_schema(import->writer, &perf_schemas[i]);
	return status;
}

uint64_t perf_time(const struct perf_import *import, const struct perf_sample *sample)
{
	return sample->has_time && sample->time ? sample->time : import->machine.start_time;
}

bool perf_is_rundown(const struct perf_import *import, const struct perf_sample *sample)
{
	return sample->has_time ? !sample->time : !import->running;
}

/*
 * perf.data is in order of time only within what came from one ring buffer. An event goes into the stream that
 * ends last before it, or begins one: so there are no more streams than rings, and nothing waits in memory.
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
		best = earliest; /* times go back in it: kept as they are */
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
	int status = find_lane(import, event->time, &lane);

	if (status)
		return status;
	lane->last = event->time;
	return ptl_writer_event(import->writer, lane->stream, event);
}

static struct ptl_event event_of(const struct perf_import *import, uint16_t id, const struct perf_sample *sample)
{
	return (struct ptl_event){
		.descriptor = {.provider = perf_provider, .id = id, .level = 4},
		.time = perf_time(import, sample),
		.cpu = sample->cpu,
		.pid = sample->pid,
		.tid = sample->tid,
	};
}

int perf_event_keep(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		    size_t body)
{
	struct ptl_event event = event_of(import, (uint16_t)record->type, sample);

	event.payload = record->body;
	event.payload_size = body;
	return perf_event_write(import, &event);
}

/* Writes a sample's event, with its stack. The payload may be the first bytes of the storage, or lie elsewhere. */
static int write_sample(struct perf_import *import, const struct perf_sample *sample, struct ptl_event *event)
{
	struct ptl_bytes *storage = &import->storage;
	struct ptl_extended items[EXTENDED_MAX];
	const bool in_storage = event->payload == storage->data;
	size_t count = event->extended_count;

	event->time = perf_time(import, sample);
	event->cpu = sample->cpu;
	event->pid = sample->pid;
	event->tid = sample->tid;
	if (!in_storage)
		storage->size = 0;
	if (sample->callchain_count && count < EXTENDED_MAX) {
		size_t start;

		if (count)
			memcpy(items, event->extended, count * sizeof(*items));
		perf_stack_put(storage, sample->callchain, sample->callchain_count, &items[count], &start);
		items[count++].data = storage->data + start;
		event->extended = items;
		event->extended_count = count;
	}
	if (storage->failed)
		return common_fail_memory("a sample", storage->size);
	if (in_storage)
		event->payload = storage->data;
	return perf_event_write(import, event);
}

/* Fields that each tracepoint has: id, flags, preempt count, pid. */
#define TRACEPOINT_COMMON 8

/*
 * An event that describes itself. 1: written; 0: it is none, or one that cannot be understood and is kept as any
 * other tracepoint's is.
 */
static int write_described(struct perf_import *import, const struct perf_sample *sample)
{
	const struct ptl_schema *schema;
	struct ptl_event event;
	bool is_new;
	int status;

	if (sample->raw_size < TRACEPOINT_COMMON)
		return 0;
	status = ptl_event_header_decode(import->headers, sample->attr->name, sample->raw + TRACEPOINT_COMMON,
					 sample->raw_size - TRACEPOINT_COMMON, &event, &schema, &is_new);
	if (status == PTL_NO_MEMORY)
		return status;
	if (status && status != PTL_CORRUPT)
		return 0;
	status = schema && is_new ? ptl_writer_schema(import->writer, schema) : 0;
	if (!status)
		status = write_sample(import, sample, &event);
	return status ? status : 1;
}

/* An event whose format the file has. Returns as above. */
static int write_typed(struct perf_import *import, const struct perf_sample *sample)
{
	struct perf_tracing_described described;
	struct ptl_event event;
	int status = perf_tracing_decode(&import->tracing, sample->attr->config, sample->raw, sample->raw_size,
					 &import->storage, &event, &described);

	if (status <= 0)
		return status;
	status = described.is_new ? ptl_writer_schema(import->writer, described.schema) : 0;
	for (size_t i = 0; !status && described.is_new && i < described.map_count; i++)
		status = ptl_writer_map(import->writer, &described.maps[i]);
	if (!status)
		status = write_sample(import, sample, &event);
	return status ? status : 1;
}

int perf_event_sample(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample)
{
	const bool tracepoint = sample->attr && sample->attr->type == PERF_TYPE_TRACEPOINT;
	const char *name = sample->attr ? sample->attr->name : "";
	struct ptl_event event = event_of(import, tracepoint ? PERF_EVENT_TRACEPOINT : PERF_RECORD_SAMPLE, sample);
	struct ptl_bytes *storage = &import->storage;

	(void)record;
	if (tracepoint && sample->raw) {
		int status = write_described(import, sample);

		if (!status)
			status = write_typed(import, sample);
		if (status)
			return status < 0 ? status : 0;
	}
	storage->size = 0;
	common_write_bytes(storage, name, strlen(name) + 1);
	common_write_le(storage, sample->ip, 8);
	common_write_le(storage, sample->period, 8);
	common_write_le(storage, sample->address, 8);
	common_write_bytes(storage, sample->raw ? sample->raw : sample->rest,
			   sample->raw ? sample->raw_size : sample->rest_size);
	event.payload = storage->data;
	event.payload_size = storage->size;
	return write_sample(import, sample, &event);
}
