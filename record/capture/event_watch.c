/* SPDX-License-Identifier: BSD-2-Clause */
/* Binds the fields that expressions name to those of schemas, and evaluates. */
#include "record/capture/event_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/error.h"
#include "common/hash_map.h"
#include "common/message.h"
#include "format/metadata/metadata.h"
#include "query/condition.h"
#include "query/evaluate_quick.h"
#include "query/payload.h"

#define SCHEMAS_MAX 65536u

/* What an event's schema is found by. */
struct key {
	struct ptl_guid provider;
	uint16_t id;
	uint8_t version, zero;
};

/* Where the fields are in the payloads of a schema. */
struct bound {
	struct ptl_schema *schema;
	struct query_location fields[];
};

struct record_event_watch {
	const char *option;
	struct common_arena arena, scratch;
	struct query_expr **list; /* any of these */
	size_t count;
	struct query_fields fields;
	struct query_files files;
	struct common_byte_map schemas; /* key: struct bound * */
	bool failed;                    /* an expression could not be computed, which has been said */
	bool matched;
	char match[400];
	/* The event at hand. */
	const struct ptl_event *event;
	const struct bound *bound; /* NULL: nothing explains it */
	struct query_payload payload;
	struct query_loops loops;
};

/* ---- what is asked --------------------------------------------------------------------------- */

static int parse(struct record_event_watch *watch, const struct common_string_list *texts)
{
	char cause[512];
	int status = 0;

	watch->list = calloc(texts->count, sizeof(*watch->list));
	if (!watch->list)
		return common_fail_memory("expressions", texts->count * sizeof(*watch->list));
	for (; status == 0 && watch->count < texts->count; watch->count++)
		status = query_parse_condition(watch->option, texts->list[watch->count], &watch->arena, &watch->fields,
					       NULL, &watch->list[watch->count]);
	if (status != PTL_CORRUPT)
		return status;
	snprintf(cause, sizeof(cause), "%s", ptl_error_text());
	return common_fail(PTL_MISUSE, "%s", cause);
}

int record_event_watch_new(const char *option, const struct common_string_list *texts,
			   struct record_event_watch **watch)
{
	struct record_event_watch *made = calloc(1, sizeof(*made));
	int status;

	if (!made)
		return common_fail_memory("expressions", sizeof(*made));
	made->option = option;
	status = parse(made, texts);
	if (status < 0)
		record_event_watch_free(made);
	else
		*watch = made;
	return status;
}

void record_event_watch_free(struct record_event_watch *watch)
{
	size_t at = 0, size;
	const void *key;

	if (!watch)
		return;
	while (common_byte_map_next(&watch->schemas, &at, &key, &size)) {
		struct bound *bound = (struct bound *)(uintptr_t)*common_byte_map_get(&watch->schemas, key, size);

		format_schema_free(bound->schema);
		free(bound);
	}
	common_byte_map_free(&watch->schemas);
	common_arena_free(&watch->arena);
	common_arena_free(&watch->scratch);
	query_files_free(&watch->files);
	query_payload_free(&watch->payload);
	free(watch->list);
	free(watch);
}

/* ---- schemas --------------------------------------------------------------------------------- */

static struct key key_of(const struct ptl_guid *provider, uint16_t id, uint8_t version)
{
	return (struct key){*provider, id, version, 0};
}

/* Its own copy, by way of the encoding that files have. */
static int bind(const struct record_event_watch *watch, const struct ptl_schema *schema, struct bound **result)
{
	struct bound *bound = calloc(1, sizeof(*bound) + watch->fields.count * sizeof(bound->fields[0]));
	struct ptl_bytes encoded = {0};
	int status;

	if (!bound)
		return common_fail_memory("a schema", sizeof(*bound));
	format_schema_encode(schema, &encoded);
	status = encoded.failed ? common_fail_memory("a schema", encoded.size)
				: format_schema_decode(common_cursor(encoded.data, encoded.size), &bound->schema);
	common_bytes_free(&encoded);
	if (status < 0) {
		free(bound);
		return status;
	}
	for (size_t i = 0; i < watch->fields.count; i++)
		query_locate(bound->schema, &watch->fields.list[i], &bound->fields[i]);
	*result = bound;
	return 0;
}

int record_event_watch_schema(struct record_event_watch *watch, const struct ptl_schema *schema)
{
	const struct key key = key_of(&schema->provider, schema->id, schema->version);
	struct bound *bound = NULL;
	int status;

	if (common_byte_map_get(&watch->schemas, &key, sizeof(key)) || watch->schemas.used >= SCHEMAS_MAX)
		return 0;
	status = bind(watch, schema, &bound);
	/* What does not come out as it went in explains nothing. */
	if (status == PTL_CORRUPT)
		return 0;
	if (status == 0)
		status = common_byte_map_put(&watch->schemas, &key, sizeof(key), (uint64_t)(uintptr_t)bound);
	return status;
}

/* ---- events ---------------------------------------------------------------------------------- */

static const struct query_location *location_of(const struct record_event_watch *watch, unsigned index)
{
	return watch->bound && watch->bound->fields[index].field ? &watch->bound->fields[index] : NULL;
}

static bool field_number(void *context, unsigned index, query_number *number)
{
	const struct record_event_watch *watch = context;
	const struct query_location *location = location_of(watch, index);

	return location && query_payload_number(location, watch->event->payload, watch->event->payload_size, number);
}

static int decode(struct record_event_watch *watch)
{
	return query_payload_decode(&watch->payload, watch->bound->schema, watch->event->payload,
				    watch->event->payload_size);
}

static int field_value(void *context, unsigned index, struct query_value *value)
{
	struct record_event_watch *watch = context;
	const struct query_location *location = location_of(watch, index);
	int status = location ? decode(watch) : 0;

	*value = (struct query_value){0};
	if (!location || status < 0)
		return status;
	return query_payload_value(&watch->payload, location, &watch->loops, &watch->scratch, value);
}

static int elements(void *context, unsigned index, uint32_t *count, bool *there)
{
	struct record_event_watch *watch = context;
	const struct query_location *location = location_of(watch, index);
	int status = location ? decode(watch) : 0;

	*there = status == 0 && location && location->whole;
	*count = *there ? query_payload_elements(&watch->payload, location, &watch->loops) : 0;
	return status;
}

/* An expression that does not go with the event's fields does not hold, which is said once. */
static int holds(struct record_event_watch *watch, const struct query_expr *expr, bool *truth)
{
	const struct query_scope scope = {
		.name = watch->option,
		.files = &watch->files,
		.scratch = &watch->scratch,
		.event = watch->event,
		.pid = watch->event->pid,
		.field = field_value,
		.number = field_number,
		.elements = elements,
		.loops = &watch->loops,
		.context = watch,
	};
	struct query_value value;
	int status;

	if (query_quick_truth(&scope, expr, truth))
		return 0;
	status = query_evaluate(&scope, expr, &value);
	*truth = status == 0 && value.kind == QUERY_VALUE_BOOL && value.truth;
	if (status == 0 || status == PTL_NO_MEMORY)
		return status;
	if (!watch->failed)
		common_message_warning("%s", ptl_error_text());
	watch->failed = true;
	return 0;
}

static void note_match(struct record_event_watch *watch)
{
	const char *name = watch->bound ? watch->bound->schema->event_name : "";

	snprintf(watch->match, sizeof(watch->match), "event %.300s of process %u",
		 *name ? name : "that nothing explains", watch->event->pid);
	watch->matched = true;
}

int record_event_watch_event(struct record_event_watch *watch, const struct ptl_event *event)
{
	const struct ptl_descriptor *descriptor = &event->descriptor;
	const struct key key = key_of(&descriptor->provider, descriptor->id, descriptor->version);
	const uint64_t *known = common_byte_map_get(&watch->schemas, &key, sizeof(key));
	bool truth = false;
	int status = 0;

	watch->event = event;
	watch->bound = known ? (const struct bound *)(uintptr_t)*known : NULL;
	watch->payload.decoded = false;
	watch->loops = (struct query_loops){0};
	for (size_t i = 0; status == 0 && !truth && i < watch->count; i++)
		status = holds(watch, watch->list[i], &truth);
	if (truth)
		note_match(watch);
	common_arena_reset(&watch->scratch);
	watch->event = NULL;
	return status;
}

const char *record_event_watch_take(struct record_event_watch *watch)
{
	const bool matched = watch->matched;

	watch->matched = false;
	return matched ? watch->match : NULL;
}
