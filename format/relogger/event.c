/* SPDX-License-Identifier: BSD-2-Clause */
/* Modifiable events: the methods of ITraceEvent. */
#include "format/relogger/event.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "format/event/events.h"
#include "format/relogger/input.h"
#include "format/relogger/relogger_internal.h"

/*
 * Copies bytes into the event's memory; `data` may be in the preceding copy, so two buffers alternate. NULL without
 * memory.
 */
static uint8_t *keep_bytes(struct format_event_memory *memory, const void *data, size_t size)
{
	struct ptl_bytes *bytes = &memory->bytes[memory->turn ^ 1];

	bytes->size = 0;
	bytes->failed = false;
	if (!common_bytes_grow(bytes, size ? size : 1))
		return NULL;
	if (size)
		memcpy(bytes->data, data, size);
	memory->turn ^= 1;
	return bytes->data;
}

void format_event_memory_free(struct ptl_trace_event *event)
{
	for (size_t i = 0; i < 2; i++) {
		common_bytes_free(&event->payload.bytes[i]);
		common_bytes_free(&event->extended.bytes[i]);
	}
}

/* Returns the time of a new event: the current event's time, or the start of the capture. */
static uint64_t default_time(const struct ptl_relogger *relogger, const struct ptl_relogger_input *input)
{
	if (relogger->current.stream)
		return relogger->current.time;
	return input ? ptl_trace_machine(input->trace)->start_time + (uint64_t)input->clock.shift : 0;
}

int ptl_event_new(struct ptl_relogger *relogger, struct ptl_relogger_input *input, struct ptl_trace_event **event)
{
	struct ptl_trace_event *result = calloc(1, sizeof(*result));

	*event = NULL;
	if (!result)
		return common_fail_memory("an event", sizeof(*result));
	result->relogger = relogger;
	result->input = input ? input : relogger->input_count ? relogger->inputs[0] : NULL;
	result->record = (struct ptl_event){
		.time = default_time(relogger, result->input),
		.cpu = PTL_NO_CPU,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.flags = PTL_EVENT_INJECTED,
	};
	*event = result;
	return 0;
}

int ptl_event_clone(const struct ptl_trace_event *event, struct ptl_trace_event **copy)
{
	struct ptl_trace_event *result = calloc(1, sizeof(*result));
	int status;

	*copy = NULL;
	if (!result)
		return common_fail_memory("an event", sizeof(*result));
	result->relogger = event->relogger;
	result->input = event->input;
	result->record = event->record;
	result->record.flags |= PTL_EVENT_INJECTED;
	status = ptl_event_set_payload(result, event->record.payload, event->record.payload_size);
	if (!status)
		status = ptl_event_set_extended(result, event->record.extended, event->record.extended_count);
	if (status)
		ptl_event_free(result);
	else
		*copy = result;
	return status;
}

void ptl_event_free(struct ptl_trace_event *event)
{
	if (!event)
		return;
	format_event_memory_free(event);
	free(event);
}

void *ptl_event_context(const struct ptl_trace_event *event)
{
	return event->input ? event->input->context : NULL;
}

struct ptl_relogger_input *ptl_event_input(const struct ptl_trace_event *event)
{
	return event->input;
}

const struct ptl_event *ptl_event_record(const struct ptl_trace_event *event)
{
	return &event->record;
}

void ptl_event_set_descriptor(struct ptl_trace_event *event, const struct ptl_descriptor *descriptor)
{
	event->record.descriptor = *descriptor;
}

void ptl_event_set_provider(struct ptl_trace_event *event, const struct ptl_guid *provider)
{
	event->record.descriptor.provider = *provider;
}

int ptl_event_set_payload(struct ptl_trace_event *event, const void *data, size_t size)
{
	const uint8_t *kept;

	if (size > PTL_PAYLOAD_MAX)
		return common_fail(PTL_MISUSE, "a payload of %zu bytes passes the bound of %u", size, PTL_PAYLOAD_MAX);
	kept = keep_bytes(&event->payload, data, size);
	if (!kept)
		return common_fail_memory("a payload", size);
	event->record.payload = kept;
	event->record.payload_size = size;
	return 0;
}

void ptl_event_set_pid(struct ptl_trace_event *event, uint32_t pid)
{
	event->record.pid = pid;
}

void ptl_event_set_tid(struct ptl_trace_event *event, uint32_t tid)
{
	event->record.tid = tid;
}

void ptl_event_set_cpu(struct ptl_trace_event *event, uint32_t cpu)
{
	event->record.cpu = cpu;
}

void ptl_event_set_time(struct ptl_trace_event *event, uint64_t time)
{
	event->record.time = time;
}

static void set_guid(struct ptl_event *record, uint32_t flag, struct ptl_guid *place, const struct ptl_guid *guid)
{
	record->flags = guid ? record->flags | flag : record->flags & ~flag;
	*place = guid ? *guid : (struct ptl_guid){0};
}

void ptl_event_set_activity(struct ptl_trace_event *event, const struct ptl_guid *activity)
{
	set_guid(&event->record, PTL_EVENT_HAS_ACTIVITY, &event->record.activity, activity);
}

void ptl_event_set_related(struct ptl_trace_event *event, const struct ptl_guid *related)
{
	set_guid(&event->record, PTL_EVENT_HAS_RELATED, &event->record.related, related);
}

/* Items and item bytes share one block of memory. */
int ptl_event_set_extended(struct ptl_trace_event *event, const struct ptl_extended *items, size_t count)
{
	struct ptl_bytes *bytes = &event->extended.bytes[event->extended.turn ^ 1];
	struct ptl_extended *kept;
	size_t size = count * sizeof(*items);
	uint8_t *at;

	if (count > FORMAT_EXTENDED_MAX)
		return common_fail(PTL_MISUSE, "%zu extended items pass the bound of %d", count, FORMAT_EXTENDED_MAX);
	for (size_t i = 0; i < count; i++)
		size += items[i].size;
	bytes->size = 0;
	bytes->failed = false;
	if (!common_bytes_grow(bytes, size ? size : 1))
		return common_fail_memory("extended items", size);
	kept = (struct ptl_extended *)(void *)bytes->data;
	at = bytes->data + count * sizeof(*items);
	for (size_t i = 0; i < count; i++) {
		kept[i] = items[i];
		kept[i].data = at;
		if (items[i].size)
			memcpy(at, items[i].data, items[i].size);
		at += items[i].size;
	}
	event->extended.turn ^= 1;
	event->record.extended = kept;
	event->record.extended_count = count;
	return 0;
}

/* ---- times of the thread ------------------------------------------------------------------------------- */

#define TIMES_SIZE 16

bool ptl_event_thread_times(const struct ptl_event *event, uint64_t *kernel, uint64_t *user)
{
	for (size_t i = 0; i < event->extended_count; i++)
		if (event->extended[i].type == PTL_EXTENDED_THREAD_TIMES && event->extended[i].size == TIMES_SIZE) {
			*kernel = common_load64(event->extended[i].data);
			*user = common_load64(event->extended[i].data + 8);
			return true;
		}
	return false;
}

int ptl_event_set_thread_times(struct ptl_trace_event *event, uint64_t kernel, uint64_t user)
{
	struct ptl_extended items[FORMAT_EXTENDED_MAX + 1];
	uint8_t times[TIMES_SIZE];
	size_t count = 0;

	for (size_t i = 0; i < event->record.extended_count; i++)
		if (event->record.extended[i].type != PTL_EXTENDED_THREAD_TIMES)
			items[count++] = event->record.extended[i];
	common_store64(times, kernel);
	common_store64(times + 8, user);
	if (kernel || user)
		items[count++] = (struct ptl_extended){PTL_EXTENDED_THREAD_TIMES, TIMES_SIZE, times};
	return ptl_event_set_extended(event, items, count);
}
