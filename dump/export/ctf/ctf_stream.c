/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the stream of a CTF trace: packets of events, as described by the metadata. */
#include <string.h>

#include "analysis/event/value.h"
#include "common/error.h"
#include "common/file.h"
#include "common/hash_map.h"
#include "common/text/guid.h"
#include "common/text/text.h"
#include "common/text/utf8.h"
#include "dump/export/ctf/ctf.h"

#define MAGIC 0xc1fc1fc1u
#define PACKET_HEAD (4 + 16 + 4 + 4 * 8) /* bytes */
#define PACKET_SIZE ((size_t)256 << 10)  /* A packet ends after the event that reaches this size. */

struct writing {
	struct dump_run *run;
	const struct ptl_trace *trace;
	int fd;
	struct common_hash_map classes; /* class number by address of the schema */
	struct ptl_bytes packet;
	struct ptl_bytes text;
	uint64_t first_time, last_time; /* of the current packet */
	uint64_t rests;                 /* events with bytes after their last field */
	struct ptl_guid id;
};

/* ---- values -------------------------------------------------------------------------------------- */

/* Appends a zero-terminated string. Invalid UTF-8 and inner zeros become U+FFFD. */
static void put_string(struct ptl_bytes *out, const uint8_t *words, size_t size)
{
	while (size) {
		uint32_t character;
		const size_t read = common_utf8_read(words, size, &character), step = read ? read : 1;

		if (read && character)
			common_write_bytes(out, words, step);
		else
			common_text_add(out, "\xef\xbf\xbd");
		words += step;
		size -= step;
	}
	common_write_le(out, 0, 1);
}

static void put_guid(struct ptl_bytes *out, const struct ptl_guid *guid)
{
	char words[PTL_GUID_TEXT_SIZE];

	common_guid_format(guid, words);
	common_write_bytes(out, words, strlen(words) + 1);
}

static void put_bytes(struct ptl_bytes *out, const uint8_t *bytes, size_t size)
{
	common_write_le(out, size, 4);
	common_write_bytes(out, bytes, size);
}

static void put_float(struct ptl_bytes *out, const struct ptl_value *value)
{
	const float narrow = (float)value->f;
	uint8_t bytes[8];

	if (value->field->type == PTL_TYPE_F32)
		memcpy(bytes, &narrow, 4);
	else
		memcpy(bytes, &value->f, 8);
	common_write_bytes(out, bytes, value->field->type == PTL_TYPE_F32 ? 4 : 8);
}

/* Returns the size of a number in bytes; 0: the type is not a number. */
static size_t number_size(uint8_t type)
{
	static const uint8_t sizes[] = {
		[PTL_TYPE_U8] = 1,        [PTL_TYPE_I8] = 1,     [PTL_TYPE_U16] = 2,     [PTL_TYPE_I16] = 2,
		[PTL_TYPE_U32] = 4,       [PTL_TYPE_I32] = 4,    [PTL_TYPE_U64] = 8,     [PTL_TYPE_I64] = 8,
		[PTL_TYPE_BOOL8] = 1,     [PTL_TYPE_BOOL32] = 4, [PTL_TYPE_POINTER] = 8, [PTL_TYPE_TIME] = 8,
		[PTL_TYPE_WALL_TIME] = 8,
	};

	return type < sizeof(sizes) ? sizes[type] : 0;
}

static void put_value(struct writing *writing, const struct ptl_value *value)
{
	struct ptl_bytes *out = &writing->packet;
	const uint8_t type = value->field->type;
	struct ptl_guid guid;

	if (number_size(type)) {
		/* Times are relative to the start of the trace, as in JSON. */
		const uint64_t start = type == PTL_TYPE_TIME ? ptl_trace_machine(writing->trace)->start_time : 0;

		common_write_le(out, value->u - start, number_size(type));
	} else if (type == PTL_TYPE_F32 || type == PTL_TYPE_F64) {
		put_float(out, value);
	} else if (type == PTL_TYPE_GUID) {
		memcpy(guid.bytes, value->bytes, sizeof(guid.bytes));
		put_guid(out, &guid);
	} else if (type == PTL_TYPE_BYTES || type == PTL_TYPE_BYTES_COUNTED) {
		put_bytes(out, value->bytes, value->size);
	} else {
		writing->text.size = 0;
		if (!analysis_value_string(&writing->text, value))
			common_write_bytes(&writing->text, value->bytes, value->size);
		put_string(out, writing->text.data, writing->text.size);
	}
}

static int put_step(void *context, enum ptl_step step, const struct ptl_value *value)
{
	struct writing *writing = context;

	if (step == PTL_STEP_VALUE)
		put_value(writing, value);
	else if (step == PTL_STEP_ARRAY && value->field->array == PTL_ARRAY_COUNTED)
		common_write_le(&writing->packet, value->u, 2);
	return 0;
}

/* ---- events -------------------------------------------------------------------------------------- */

static void put_header(struct writing *writing, const struct ptl_event *event, uint32_t number)
{
	const struct ptl_descriptor *descriptor = &event->descriptor;
	struct ptl_bytes *out = &writing->packet;

	common_write_le(out, number, 4);
	common_write_le(out, writing->last_time, 8);
	common_write_le(out, event->cpu, 4);
	common_write_le(out, event->pid, 4);
	common_write_le(out, event->tid, 4);
	common_write_le(out, descriptor->id, 2);
	common_write_le(out, descriptor->version, 1);
	common_write_le(out, descriptor->channel, 1);
	common_write_le(out, descriptor->level, 1);
	common_write_le(out, descriptor->opcode, 1);
	common_write_le(out, descriptor->task, 2);
	common_write_le(out, descriptor->keyword, 8);
	if (event->flags & PTL_EVENT_HAS_ACTIVITY)
		put_guid(out, &event->activity);
	else
		common_write_le(out, 0, 1);
	if (event->flags & PTL_EVENT_HAS_RELATED)
		put_guid(out, &event->related);
	else
		common_write_le(out, 0, 1);
}

/*
 * Appends an event with the fields of its schema. Returns false, without output, if the payload does not fit the
 * schema.
 */
static bool put_typed(struct writing *writing, const struct ptl_event *event)
{
	const struct ptl_schema *schema = ptl_schema_of(writing->trace, event);
	const uint64_t *number = schema ? common_hash_map_get(&writing->classes, (uintptr_t)schema) : NULL;
	const size_t start = writing->packet.size;
	size_t rest = 0;

	if (!number)
		return false;
	put_header(writing, event, (uint32_t)*number);
	if (ptl_payload_walk(schema, event->payload, event->payload_size, put_step, writing, &rest) < 0) {
		writing->packet.size = start;
		return false;
	}
	writing->rests += rest > 0;
	return true;
}

static void put_raw(struct writing *writing, const struct ptl_event *event)
{
	put_header(writing, event, dump_ctf_raw_class(writing->trace));
	put_guid(&writing->packet, &event->descriptor.provider);
	put_bytes(&writing->packet, event->payload, event->payload_size);
}

/* ---- packets ------------------------------------------------------------------------------------- */

/* Converts a GUID to the byte order of its text. */
static void put_uuid(const struct ptl_guid *id, uint8_t uuid[16])
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

	for (size_t i = 0; i < sizeof(order); i++)
		uuid[i] = id->bytes[order[i]];
}

static int flush_stream(struct writing *writing)
{
	struct ptl_bytes *packet = &writing->packet;
	uint8_t *head = packet->data;
	int status;

	if (packet->failed || writing->text.failed)
		return common_fail_memory("a packet", packet->size);
	if (packet->size <= PACKET_HEAD)
		return 0;
	common_store32(head, MAGIC);
	put_uuid(&writing->id, head + 4);
	common_store32(head + 20, 0);
	common_store64(head + 24, writing->first_time);
	common_store64(head + 32, writing->last_time);
	common_store64(head + 40, packet->size * 8);
	common_store64(head + 48, packet->size * 8);
	status = common_write_all(writing->fd, packet->data, packet->size);
	packet->size = 0;
	return status;
}

static void begin_packet(struct writing *writing)
{
	uint8_t *room = common_bytes_grow(&writing->packet, PACKET_HEAD);

	if (room)
		memset(room, 0, PACKET_HEAD);
	writing->first_time = writing->last_time;
}

static int take_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct writing *writing = context;
	const struct analysis_filter *filter = &writing->run->options->filter;

	(void)trace;
	if (!analysis_filter_wants_thread(filter, event->pid, event->tid) ||
	    !common_id_set_has(&filter->cpus, event->cpu))
		return 0;
	/* Timestamps in a CTF stream must not decrease. */
	if (event->time > writing->last_time)
		writing->last_time = event->time;
	if (!writing->packet.size)
		begin_packet(writing);
	if (!put_typed(writing, event))
		put_raw(writing, event);
	return writing->packet.size >= PACKET_SIZE || writing->packet.failed ? flush_stream(writing) : 0;
}

int dump_ctf_stream(struct dump_run *run, int fd, struct dump_left_out *left_out)
{
	const struct analysis_filter *filter = &run->options->filter;
	const struct ptl_event_filter times = {
		.size = sizeof(times),
		.first_time = filter->first_time,
		.last_time = filter->last_time == UINT64_MAX ? 0 : filter->last_time,
	};
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = take_event};
	struct writing writing = {.run = run, .trace = run->trace, .fd = fd};
	int64_t wall;
	int status = 0;

	ptl_trace_id(run->trace, &writing.id, &wall);
	for (size_t i = 0; !status && i < ptl_schema_count(run->trace); i++)
		status = common_hash_map_put(&writing.classes, (uintptr_t)ptl_schema_at(run->trace, i), i);
	if (!status)
		status = ptl_process(run->trace, &times, &callbacks, &writing);
	if (!status)
		status = flush_stream(&writing);
	dump_left_out_add(left_out, writing.rests, "event's bytes that no field explains",
			  "events' bytes that no field explains");
	common_hash_map_free(&writing.classes);
	common_bytes_free(&writing.packet);
	common_bytes_free(&writing.text);
	return status;
}
