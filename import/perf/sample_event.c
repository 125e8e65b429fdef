/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes samples as events: of tracepoints with their fields, of groups for each counter, of virtual machines. */
#include <string.h>

#include "common/error.h"
#include "import/perf/import.h"
#include "perf/schemas.h"
#include "perf/stack.h"

#define EXTENDED_MAX 4

/* Writes a sample's event with its stack. The payload may begin the storage, or lie elsewhere. */
static int write_sample(struct perf_import *import, const struct perf_sample *sample, struct ptl_event *event)
{
	const struct ptl_event at = perf_event_of(import, PERF_RECORD_SAMPLE, sample);
	struct ptl_bytes *storage = &import->storage;
	struct ptl_extended items[EXTENDED_MAX];
	const bool in_storage = event->payload == storage->data;
	size_t count = event->extended_count;

	event->time = at.time;
	event->cpu = at.cpu;
	event->pid = at.pid;
	event->tid = at.tid;
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

/* Size of the common fields of tracepoints: id, flags, preempt count, pid. */
#define TRACEPOINT_COMMON 8

/*
 * Writes a self-describing event (EventHeader). Returns 1: written; 0: not such an event, or not understood; the caller
 * then handles the event as any other tracepoint.
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

/* Writes an event whose tracepoint format is in the file. Returns as write_described. */
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

/* Writes a sample of a virtual machine. Its addresses mean nothing in the process that runs the machine. */
static int write_guest(struct perf_import *import, const struct perf_sample *sample)
{
	const char *name = sample->attr ? sample->attr->name : "";
	struct ptl_event event = perf_event_of(import, PERF_EVENT_GUEST_SAMPLE, sample);
	const size_t count = sample->callchain_count < UINT16_MAX ? sample->callchain_count : UINT16_MAX;
	struct ptl_bytes *storage = &import->storage;

	storage->size = 0;
	common_write_bytes(storage, name, strlen(name) + 1);
	common_write_le(storage, sample->ip, 8);
	common_write_le(storage, sample->period, 8);
	common_write_le(storage, sample->address, 8);
	common_write_le(storage, count, 2);
	common_write_bytes(storage, sample->callchain, 8 * count);
	common_write_bytes(storage, sample->raw, sample->raw_size);
	return perf_event_write_storage(import, &event);
}

static int write_any(struct perf_import *import, const struct perf_sample *sample)
{
	const bool tracepoint = sample->attr && sample->attr->type == PERF_TYPE_TRACEPOINT;
	const char *name = sample->attr ? sample->attr->name : "";
	struct ptl_event event = perf_event_of(import, tracepoint ? PERF_EVENT_TRACEPOINT : PERF_RECORD_SAMPLE, sample);
	struct ptl_bytes *storage = &import->storage;

	if (sample->guest && !tracepoint)
		return write_guest(import, sample);
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
	common_write_bytes(storage, sample->raw, sample->raw_size);
	event.payload = storage->data;
	event.payload_size = storage->size;
	return write_sample(import, sample, &event);
}

/*
 * Writes a sample for a counter of a group, as perf does. The sample's period is the count since the previous sample. A
 * counter without counts gets no sample.
 */
static int write_counted(struct perf_import *import, const struct perf_sample *sample,
			 const struct perf_counter *counter)
{
	const uint64_t id = counter->id ? counter->id : sample->id;
	const struct perf_attr *attr = perf_attrs_find(&import->attrs, id);
	const uint64_t *before = common_hash_map_get(&import->counters, id);
	struct perf_sample own = *sample;
	int status;

	if (!attr)
		return 0;
	own.attr = attr;
	own.id = id;
	own.period = counter->value - (before ? *before : 0);
	status = common_hash_map_put(&import->counters, id, counter->value);
	if (status || !own.period)
		return status;
	/* Raw bytes belong to the sampled event only. */
	if (attr != sample->attr)
		own.raw = NULL, own.raw_size = 0;
	return write_any(import, &own);
}

int perf_event_sample(struct perf_import *import, struct perf_sample *sample)
{
	const bool counted = sample->counters.count > 0;
	const bool unwinds = !sample->guest && perf_unwind_wants(sample);
	int status = unwinds ? perf_unwind_sample(import, sample) : 0;

	import->outcome.left_out.exact += sample->exact;
	import->outcome.lone_stacks += !unwinds && sample->stack_size;
	if (!status && !counted)
		status = write_any(import, sample);
	for (size_t i = 0; !status && i < sample->counters.count; i++) {
		const struct perf_counter counter = perf_counter_at(&sample->counters, i);

		status = write_counted(import, sample, &counter);
	}
	return status ? status : perf_detail_write(import, sample);
}
