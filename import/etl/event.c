/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes events of an import: explains payloads, and assigns streams. */
#include <string.h>

#include "common/error.h"
#include "import/etl/file/layout.h"
#include "import/etl/import.h"
#include "import/etl/schema/clr_map.h"

#define TIMER_UNIT 100u /* nanoseconds per unit of timer_resolution */
#define EXTENDED_MAX (ETL_ITEMS_MAX - 3 - ETL_STACKS_MAX)
#define IDENTITY_SIZE 3u /* bytes of PTL_EXTENDED_ETW_ID */

/*
 * Finds the stream with the latest end before `time`, or opens a stream. When there are too many streams, times may go
 * back in one.
 */
static int find_lane(struct etl_import *import, uint64_t time)
{
	struct ptl_stream stream = {.kind = PTL_KIND_EVENTS, .cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	size_t best = SIZE_MAX, earliest = 0;
	int status;

	for (size_t i = 0; i < import->lane_count; i++) {
		const struct etl_lane *lane = &import->lanes[i];

		if (lane->last <= time && (best == SIZE_MAX || lane->last > import->lanes[best].last))
			best = i;
		if (lane->last < import->lanes[earliest].last)
			earliest = i;
	}
	if (best == SIZE_MAX && import->lane_count == ETL_LANES_MAX)
		best = earliest;
	import->lane = best;
	if (best != SIZE_MAX)
		return 0;
	status = ptl_writer_stream(import->writer, &stream);
	if (status)
		return status;
	import->lane = import->lane_count++;
	import->lanes[import->lane] = (struct etl_lane){.stream = stream.id};
	return 0;
}

int etl_event_write(struct etl_import *import, const struct ptl_event *event)
{
	/* Most events follow the previous event in time, and go to the same stream. */
	if (import->lane >= import->lane_count || event->time < import->lanes[import->lane].last) {
		int status = find_lane(import, event->time);

		if (status)
			return status;
	}
	import->lanes[import->lane].last = event->time;
	return ptl_writer_event(import->writer, import->lanes[import->lane].stream, event);
}

static bool is_zero(const uint8_t *guid)
{
	static const uint8_t zero[16];

	return memcmp(guid, zero, sizeof(zero)) == 0;
}

/* Adds the kernel and user time of the event's thread, in nanoseconds. */
static void put_cpu_times(struct etl_import *import, const struct etl_record *record, uint8_t bytes[16],
			  struct ptl_extended *item)
{
	const uint64_t unit = (uint64_t)etl_file_header(import->file)->timer_resolution * TIMER_UNIT;

	common_store64(bytes, record->kernel * unit);
	common_store64(bytes + 8, record->user * unit);
	*item = (struct ptl_extended){PTL_EXTENDED_THREAD_TIMES, 16, bytes};
}

/* Adds the recorded id and version, if explain() has replaced them. Returns the number of items. */
static size_t put_identity(const struct ptl_descriptor *recorded, const struct ptl_descriptor *now,
			   uint8_t bytes[IDENTITY_SIZE], struct ptl_extended *item)
{
	if ((!recorded->id && !recorded->version) || (recorded->id == now->id && recorded->version == now->version))
		return 0;
	common_store16(bytes, recorded->id);
	bytes[2] = recorded->version;
	*item = (struct ptl_extended){PTL_EXTENDED_ETW_ID, IDENTITY_SIZE, bytes};
	return 1;
}

/*
 * Keeps the payload as ETW wrote it, and marks the event as raw: another input may have a schema for an equal
 * descriptor.
 */
static int leave_raw(struct etl_import *import, struct ptl_extended *item)
{
	import->outcome.unexplained++;
	*item = (struct ptl_extended){.type = PTL_EXTENDED_RAW};
	return 0;
}

/*
 * Rewrites the payload for its schema. *item: an extended item for the event, unless its type is 0. A payload that does
 * not fit its schema is kept unchanged as an item, too.
 */
static int explain(struct etl_import *import, struct etl_record *record, struct ptl_event *event,
		   struct ptl_extended *item)
{
	const uint8_t opcode = record->descriptor.opcode;
	struct etl_schema *schema;
	bool lost;
	int status = etl_known_find(&import->known, record, &schema);

	event->descriptor = record->descriptor;
	if (status || !schema)
		return status ? status : leave_raw(import, item);
	if (!(schema->written[opcode / 8] & 1u << opcode % 8)) {
		struct ptl_schema another = schema->ptl;

		another.opcode = opcode;
		if (!etl_budget_spend(&import->known.budget, 1 + schema->field_count, etl_schema_bytes(schema)))
			return leave_raw(import, item);
		status = etl_clr_maps_write(&import->known, import->writer, schema);
		if (!status)
			status = ptl_writer_schema(import->writer, &another);
		schema->written[opcode / 8] |= (uint8_t)(1u << opcode % 8);
	}
	import->outcome.cut += schema->is_cut;
	if (!status)
		status = etl_payload(import, schema, record, &import->storage, &event->payload, &event->payload_size,
				     &lost);
	if (!status && lost && record->payload_size <= UINT16_MAX)
		*item = (struct ptl_extended){PTL_EXTENDED_ETW_PAYLOAD, (uint16_t)record->payload_size,
					      record->payload};
	return status;
}

int etl_event_take(struct etl_import *import, const struct etl_buffer *buffer, struct etl_record *record)
{
	struct ptl_extended items[ETL_ITEMS_MAX];
	uint8_t times[16], identity[IDENTITY_SIZE];
	const struct ptl_descriptor recorded = record->descriptor;
	int status = etl_threads_follow(&import->threads, buffer, record);
	size_t at = 0, stacks = 0;
	struct ptl_event event;

	if (!status && etl_stacks_gone(import, record))
		record->payload_size = ETL_STACK_HEAD;
	event = (struct ptl_event){
		.time = record->has_time ? etl_clock_time(import, record->time) : import->now,
		.cpu = buffer->cpu,
		.pid = record->pid,
		.tid = record->tid,
		.payload = record->payload,
		.payload_size = record->payload_size,
		.extended = items,
	};

	if (status)
		return status;
	if (record->activity && !is_zero(record->activity)) {
		event.flags |= PTL_EVENT_HAS_ACTIVITY;
		memcpy(event.activity.bytes, record->activity, sizeof(event.activity.bytes));
	}
	if (record->related) {
		event.flags |= PTL_EVENT_HAS_RELATED;
		memcpy(event.related.bytes, record->related, sizeof(event.related.bytes));
	}
	if (record->has_cpu_times && (record->kernel || record->user))
		put_cpu_times(import, record, times, &items[event.extended_count++]);
	items[event.extended_count] = (struct ptl_extended){0};
	status = explain(import, record, &event, &items[event.extended_count]);
	if (status)
		return status;
	event.extended_count += items[event.extended_count].type != 0;
	event.extended_count += put_identity(&recorded, &record->descriptor, identity, &items[event.extended_count]);
	while (event.extended_count < EXTENDED_MAX && etl_record_extended(record, &at, &items[event.extended_count]))
		event.extended_count += items[event.extended_count].type != ETL_EXTENDED_RELATED;
	if (event.time > import->now)
		import->now = event.time;
	if (import->stacks.any)
		status = etl_stacks_take(import, record, buffer->cpu, &items[event.extended_count], &stacks);
	event.extended_count += stacks;
	return status ? status : etl_event_write(import, &event);
}
