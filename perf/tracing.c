/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats of tracepoints from TRACING_DATA, and events of their samples. */
#include "perf/tracing.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/vector.h"
#include "format/container/layout.h"
#include "perf/trace_format.h"

#define EVENTS_MAX 65536u
#define MAGIC "\x17\x08\x44tracing"
#define NAME_MAX_SIZE 256
#define OWN_ID 0x8000u /* bit of event ids that tracepoints share with user_events: ids that no author assigns */

/* A tracepoint. Its format is parsed at the first sample, because most tracepoints of a file have no sample. */
struct perf_tracing_event {
	char system[NAME_MAX_SIZE];
	char *text;
	size_t size;
	enum { UNREAD, GOOD, BAD } state;
	bool given;
	struct perf_trace_format format;
	struct ptl_schema schema;
	struct ptl_descriptor descriptor;
	struct ptl_map *maps;
	struct format_event_kind kind;
	struct format_event_piece *pieces; /* pieces of the kind; NULL: payloads are no pieces of samples */
};

void perf_tracing_free(struct perf_tracing *tracing)
{
	for (size_t i = 0; i < tracing->count; i++) {
		perf_trace_format_free(&tracing->events[i]->format);
		free(tracing->events[i]->text);
		free(tracing->events[i]->maps);
		free(tracing->events[i]->pieces);
		free(tracing->events[i]);
	}
	free(tracing->events);
	common_hash_map_free(&tracing->numbers);
	common_hash_map_free(&tracing->identities);
	*tracing = (struct perf_tracing){0};
}

/* ---- TRACING_DATA ---------------------------------------------------------------------------------- */

/* Reads a zero-terminated string. */
static const char *read_text(struct common_cursor *cursor)
{
	const size_t left = common_cursor_left(cursor);
	const char *text = (const char *)cursor->data + cursor->at;

	return (const char *)(common_read_bytes(cursor, strnlen(text, left) + 1) ? text : NULL);
}

/* Reads bytes that follow their size; the size has `width` bytes. */
static const uint8_t *read_counted(struct common_cursor *cursor, size_t width, size_t *size)
{
	const uint64_t count = common_read_le(cursor, width);

	*size = count > common_cursor_left(cursor) ? SIZE_MAX : (size_t)count;
	return common_read_bytes(cursor, *size);
}

/* Parses the tracepoint's number in the format's second line. */
static bool find_number(const char *text, size_t size, uint64_t *number)
{
	const char *id = memmem(text, size, "\nID:", 4), *end = text + size;

	if (!id)
		return false;
	*number = 0;
	for (id += 4; id < end && *id == ' '; id++)
		;
	for (; id < end && *id >= '0' && *id <= '9' && *number <= UINT16_MAX; id++)
		*number = *number * 10 + (uint64_t)(*id - '0');
	return *number && *number <= UINT16_MAX;
}

int perf_tracing_add_format(struct perf_tracing *tracing, const char *system, const uint8_t *text, size_t size)
{
	struct perf_tracing_event *event;
	uint64_t number;

	if (tracing->count == EVENTS_MAX || size > PERF_TRACE_TEXT_MAX || !*system || strlen(system) >= NAME_MAX_SIZE ||
	    !find_number((const char *)text, size, &number) || common_hash_map_get(&tracing->numbers, number))
		return 0;
	if (!common_vector_room(&tracing->events, tracing->count, sizeof(struct perf_tracing_event *)))
		return common_fail_memory("tracepoints", (tracing->count + 1) * sizeof(struct perf_tracing_event *));
	event = calloc(1, sizeof(*event));
	if (event)
		event->text = malloc(size + 1);
	if (!event || !event->text) {
		free(event);
		return common_fail_memory("a tracepoint", size);
	}
	memcpy(event->text, text, size);
	event->size = size;
	memcpy(event->system, system, strlen(system) + 1);
	tracing->events[tracing->count++] = event;
	return common_hash_map_put(&tracing->numbers, number, tracing->count - 1);
}

static int read_formats(struct perf_tracing *tracing, struct common_cursor *cursor, const char *system)
{
	const uint32_t count = common_read32(cursor);
	int status = 0;

	for (uint32_t i = 0; !status && i < count && !cursor->failed; i++) {
		size_t size;
		const uint8_t *text = read_counted(cursor, 8, &size);

		if (text)
			status = perf_tracing_add_format(tracing, system, text, size);
	}
	return status;
}

int perf_tracing_add(struct perf_tracing *tracing, const uint8_t *data, size_t size)
{
	struct common_cursor cursor = common_cursor(data, size);
	const uint8_t *magic = common_read_bytes(&cursor, sizeof(MAGIC) - 1);
	uint32_t systems;
	size_t skipped;
	int status;

	if (!magic || memcmp(magic, MAGIC, sizeof(MAGIC) - 1) || !read_text(&cursor) /* version */ ||
	    common_read8(&cursor) /* big-endian */ || common_read8(&cursor) != 8 /* bytes of a long */)
		return 0;
	common_read32(&cursor); /* bytes of a page */
	/* skip header_page and header_event: layout of ftrace's ring */
	for (unsigned i = 0; i < 2 && read_text(&cursor); i++)
		read_counted(&cursor, 8, &skipped);
	status = read_formats(tracing, &cursor, "ftrace");
	systems = common_read32(&cursor);
	for (uint32_t i = 0; !status && i < systems && !cursor.failed; i++) {
		const char *system = read_text(&cursor);

		if (system)
			status = read_formats(tracing, &cursor, system);
	}
	return status;
}

/* ---- events --------------------------------------------------------------------------------------- */

/*
 * Gives the tracepoint an event id and version: a hash of its record format. Tracepoint numbers change with each boot;
 * the hash makes a tracepoint's events the same in all traces.
 */
static int identify(struct perf_tracing *tracing, size_t index)
{
	struct perf_tracing_event *event = tracing->events[index];
	struct ptl_schema *schema = &event->schema;
	struct ptl_bytes key = {0};
	uint64_t hash;

	common_write_bytes(&key, event->system, strlen(event->system) + 1);
	common_write_bytes(&key, schema->event_name, strlen(schema->event_name) + 1);
	for (size_t i = 0; i < schema->field_count; i++) {
		const struct ptl_field *field = &schema->fields[i];

		common_write_bytes(&key, field->name, strlen(field->name) + 1);
		common_write_le(&key, field->type | field->array << 8, 2);
		common_write_le(&key, field->length, 4);
		common_write_le(&key, field->array_length, 4);
	}
	if (key.failed)
		return common_fail_memory("a tracepoint", key.size);
	hash = format_checksum(key.data, key.size);
	common_bytes_free(&key);
	/* A free identity exists: identities outnumber events. */
	while (common_hash_map_get(&tracing->identities, hash & 0xffffff & ~(uint64_t)OWN_ID))
		hash++;
	schema->id = (uint16_t)(OWN_ID | (hash & 0x7fff));
	schema->version = (uint8_t)(hash >> 16);
	return common_hash_map_put(&tracing->identities, hash & 0xffffff & ~(uint64_t)OWN_ID, index);
}

static int make_kind(struct perf_tracing_event *event)
{
	const struct perf_trace_format *format = &event->format;
	struct format_event_kind *kind = &event->kind;

	for (size_t i = 0; i < format->step_count; i++)
		if (format->steps[i].field != PERF_TRACE_COPY)
			return 0;
	event->pieces = calloc(format->step_count + 1, sizeof(*event->pieces));
	if (!event->pieces)
		return common_fail_memory("a tracepoint's format", format->step_count * sizeof(*event->pieces));
	*kind = (struct format_event_kind){
		.descriptor = event->descriptor, .pieces = event->pieces, .piece_count = format->step_count};
	for (size_t i = 0; i < format->step_count; i++) {
		const struct perf_trace_step *step = &format->steps[i];
		const size_t end = (size_t)step->offset + step->size;

		event->pieces[i] = (struct format_event_piece){step->offset, step->size};
		kind->payload_size += step->size;
		kind->record_size = end > kind->record_size ? end : kind->record_size;
	}
	return 0;
}

/* Parses the format. Afterwards state is GOOD or BAD. Returns PTL_NO_MEMORY. */
static int read_event(struct perf_tracing *tracing, size_t index)
{
	struct perf_tracing_event *event = tracing->events[index];
	struct perf_trace_format *format = &event->format;
	int status = perf_trace_format_parse(event->text, event->size, format);

	event->state = BAD;
	if (status)
		return status == PTL_NO_MEMORY ? status : 0;
	event->schema = (struct ptl_schema){
		.provider_name = event->system,
		.event_name = format->name,
		.task_name = "",
		.opcode_name = "",
		.message = "",
		.fields = format->described,
		.field_count = format->field_count,
	};
	/* A name that is no valid text gives no provider. */
	if (ptl_guid_from_name(event->system, &event->schema.provider))
		return 0;
	event->maps = calloc(format->map_count + 1, sizeof(*event->maps));
	if (!event->maps)
		return common_fail_memory("names of a tracepoint", format->map_count * sizeof(*event->maps));
	for (size_t i = 0; i < format->map_count; i++) {
		event->maps[i] = format->maps[i].map;
		event->maps[i].provider = event->schema.provider;
	}
	status = identify(tracing, index);
	if (status < 0)
		return status;
	event->descriptor = (struct ptl_descriptor){
		.provider = event->schema.provider,
		.id = event->schema.id,
		.version = event->schema.version,
	};
	event->state = GOOD;
	return make_kind(event);
}

/* Finds the parsed tracepoint, or NULL. The last one is cached, because tracepoints repeat. Returns PTL_NO_MEMORY. */
static int find_event(struct perf_tracing *tracing, uint64_t number, struct perf_tracing_event **result)
{
	const uint64_t *index;
	int status = 0;

	*result = tracing->last;
	if (tracing->last && tracing->last_number == number)
		return 0;
	*result = NULL;
	index = common_hash_map_get(&tracing->numbers, number);
	if (!index)
		return 0;
	if (tracing->events[*index]->state == UNREAD)
		status = read_event(tracing, *index);
	if (status < 0 || tracing->events[*index]->state == BAD)
		return status;
	*result = tracing->last = tracing->events[*index];
	tracing->last_number = number;
	return 0;
}

int perf_tracing_decode(struct perf_tracing *tracing, uint64_t number, const uint8_t *raw, size_t size,
			struct ptl_bytes *storage, struct ptl_event *event, struct perf_tracing_described *described)
{
	struct perf_tracing_event *known;
	const int status = find_event(tracing, number, &known);

	if (status || !known)
		return status;
	storage->size = 0;
	if (!perf_trace_format_payload(&known->format, raw, size, storage))
		return 0;
	if (storage->failed)
		return common_fail_memory("a tracepoint's sample", storage->size);
	event->descriptor = known->descriptor;
	event->flags = 0;
	event->payload = storage->data;
	event->payload_size = storage->size;
	event->extended_count = 0;
	*described = (struct perf_tracing_described){.schema = &known->schema,
						     .maps = known->maps,
						     .map_count = known->format.map_count,
						     .is_new = !known->given};
	known->given = true;
	return 1;
}

const struct format_event_kind *perf_tracing_kind(const struct perf_tracing *tracing, uint64_t number)
{
	const uint64_t *index = common_hash_map_get(&tracing->numbers, number);
	const struct perf_tracing_event *event = index ? tracing->events[*index] : NULL;

	return event && event->given && event->pieces && event->kind.payload_size <= PTL_PAYLOAD_MAX ? &event->kind
												     : NULL;
}
