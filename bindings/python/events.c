/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads events of a trace in chunks. ptl_process calls back, but Python needs an iterator: a thread connects the two.
 */
#include "bindings/python/loops.h"

#include <stdlib.h>
#include <string.h>

#include "bindings/python/queue.h"

#define CHUNK_EVENTS 4096
#define CHUNK_BYTES ((size_t)1 << 20) /* limit of payload bytes; a single larger payload is allowed */

struct chunk {
	struct python_event_row rows[CHUNK_EVENTS];
	size_t count;
	uint8_t *bytes;
	size_t size;
	size_t capacity;
};

struct python_events {
	struct ptl_trace *trace;
	struct ptl_event_filter filter;
	uint8_t provider[sizeof(struct ptl_guid)];
	bool one_provider;

	struct python_queue queue;
	struct chunk chunks[PYTHON_CHUNKS];
};

/* Hands over the filled chunk, and empties the next chunk. */
static int hand_over(struct python_events *events)
{
	const int status = python_queue_hand_over(&events->queue);
	struct chunk *chunk = &events->chunks[events->queue.filled % PYTHON_CHUNKS];

	chunk->count = 0;
	chunk->size = 0;
	return status;
}

static int make_chunk_room(struct chunk *chunk, size_t size)
{
	size_t capacity = chunk->capacity;
	uint8_t *grown;

	if (size <= chunk->capacity - chunk->size)
		return 0;
	while (capacity - chunk->size < size)
		capacity = capacity ? capacity * 2 : 65536;
	grown = realloc(chunk->bytes, capacity);
	if (!grown)
		return PTL_NO_MEMORY;
	chunk->bytes = grown;
	chunk->capacity = capacity;
	return 0;
}

static void fill_row(struct python_event_row *row, const struct ptl_trace *trace, const struct ptl_event *event)
{
	*row = (struct python_event_row){
		.time = event->time,
		.keyword = event->descriptor.keyword,
		.schema = (uintptr_t)ptl_schema_of(trace, event),
		.payload_size = (uint32_t)event->payload_size,
		.cpu = event->cpu,
		.pid = event->pid,
		.tid = event->tid,
		.flags = event->flags,
		.id = event->descriptor.id,
		.task = event->descriptor.task,
		.version = event->descriptor.version,
		.channel = event->descriptor.channel,
		.level = event->descriptor.level,
		.opcode = event->descriptor.opcode,
	};
	memcpy(row->guids, event->descriptor.provider.bytes, 16);
	memcpy(row->guids + 16, event->activity.bytes, 16);
	memcpy(row->guids + 32, event->related.bytes, 16);
}

static int python_take_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct python_events *events = context;
	struct chunk *chunk = &events->chunks[events->queue.filled % PYTHON_CHUNKS];
	int status;

	if (events->one_provider &&
	    memcmp(events->provider, event->descriptor.provider.bytes, sizeof(events->provider)))
		return 0;
	if (chunk->count == CHUNK_EVENTS || (chunk->count && chunk->size + event->payload_size > CHUNK_BYTES)) {
		status = hand_over(events);
		if (status)
			return status;
		chunk = &events->chunks[events->queue.filled % PYTHON_CHUNKS];
	}
	status = make_chunk_room(chunk, event->payload_size);
	if (status)
		return status;
	fill_row(&chunk->rows[chunk->count], trace, event);
	chunk->rows[chunk->count++].payload = chunk->size;
	if (event->payload_size)
		memcpy(chunk->bytes + chunk->size, event->payload, event->payload_size);
	chunk->size += event->payload_size;
	return 0;
}

static void *read_events_thread(void *context)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = python_take_event};
	struct python_events *events = context;
	int status = ptl_process(events->trace, &events->filter, &callbacks, events);

	if (!status && events->chunks[events->queue.filled % PYTHON_CHUNKS].count)
		status = hand_over(events);
	python_queue_end(&events->queue, status);
	return NULL;
}

int python_events_open(struct ptl_trace *trace, uint64_t first_time, uint64_t last_time, const uint8_t *provider,
		       struct python_events **events)
{
	struct python_events *new = calloc(1, sizeof(*new));
	int status;

	if (!new)
		return PTL_NO_MEMORY;
	new->trace = trace;
	new->filter = (struct ptl_event_filter){
		.size = sizeof(struct ptl_event_filter), .first_time = first_time, .last_time = last_time};
	new->one_provider = provider != NULL;
	if (provider)
		memcpy(new->provider, provider, sizeof(new->provider));
	status = python_queue_start(&new->queue, read_events_thread, new);
	if (status) {
		free(new);
		return status;
	}
	*events = new;
	return 0;
}

int python_events_next(struct python_events *events, struct python_chunk *out)
{
	const struct chunk *chunk;
	unsigned number;
	const int status = python_queue_next(&events->queue, &number);

	if (status <= 0)
		return status;
	chunk = &events->chunks[number];
	*out = (struct python_chunk){
		.rows = chunk->rows, .count = chunk->count, .bytes = chunk->bytes, .size = chunk->size};
	return 1;
}

const char *python_events_error(const struct python_events *events)
{
	return events->queue.error;
}

void python_events_close(struct python_events *events)
{
	if (!events)
		return;
	python_queue_close(&events->queue);
	for (size_t i = 0; i < PYTHON_CHUNKS; i++)
		free(events->chunks[i].bytes);
	free(events);
}

/* ---- payloads ---------------------------------------------------------------------------------------- */

struct values {
	const struct ptl_schema *schema;
	const uint8_t *payload;
	struct python_value *values;
	size_t room;
	size_t count;
};

static int take_value(void *context, enum ptl_step step, const struct ptl_value *value)
{
	struct values *values = context;

	if (values->count < values->room) {
		struct python_value *out = &values->values[values->count];

		*out = (struct python_value){.step = step, .field = (uint32_t)(value->field - values->schema->fields)};
		if (step == PTL_STEP_VALUE || step == PTL_STEP_ARRAY)
			out->number = value->u;
		if (step == PTL_STEP_VALUE && value->bytes) {
			out->offset = (uint32_t)(value->bytes - values->payload);
			out->size = (uint32_t)value->size;
		}
	}
	values->count++;
	return 0;
}

int python_payload(const struct ptl_schema *schema, const uint8_t *payload, size_t size, struct python_value *values,
		   size_t room, size_t *count)
{
	struct values context = {.schema = schema, .payload = payload, .values = values, .room = room};
	int status = ptl_payload_walk(schema, payload, size, take_value, &context, NULL);

	*count = context.count;
	return status;
}
