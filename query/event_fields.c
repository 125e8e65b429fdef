/* SPDX-License-Identifier: BSD-2-Clause */
/* Binds field names of expressions to schemas, once per schema, and reads the fields from payloads. */
#include "query/event_fields.h"

void query_event_fields_free(struct query_event_fields *at)
{
	common_arena_free(&at->arena);
	common_arena_free(&at->scratch);
	common_hash_map_free(&at->bound);
	query_payload_free(&at->payload);
	*at = (struct query_event_fields){0};
}

/* Returns the cached locations of the fields in a schema. NULL: no memory. */
static const struct query_location *locate(struct query_event_fields *at, const struct query_fields *fields,
					   const struct ptl_schema *schema)
{
	const uint64_t key = (uint64_t)(uintptr_t)schema;
	const uint64_t *known = common_hash_map_get(&at->bound, key);
	struct query_location *locations;

	if (known)
		return (const struct query_location *)(uintptr_t)*known;
	locations = common_arena_zeroed(&at->arena, fields->count * sizeof(*locations));
	if (!locations)
		return NULL;
	for (size_t i = 0; i < fields->count; i++)
		query_locate(schema, &fields->list[i], &locations[i]);
	return common_hash_map_put(&at->bound, key, (uint64_t)(uintptr_t)locations) ? NULL : locations;
}

int query_event_fields_set(struct query_event_fields *at, const struct query_fields *fields,
			   const struct ptl_event *event, const struct ptl_schema *schema)
{
	at->event = event;
	at->schema = schema;
	at->payload.decoded = false;
	at->loops = (struct query_loops){0};
	at->locations = fields->count ? locate(at, fields, schema) : NULL;
	return fields->count && !at->locations ? PTL_NO_MEMORY : 0;
}

bool query_event_number(void *context, unsigned index, query_number *number)
{
	const struct query_event_fields *at = context;
	const struct query_location *location = &at->locations[index];

	return location->field && query_payload_number(location, at->event->payload, at->event->payload_size, number);
}

static int decode_fields(struct query_event_fields *at)
{
	return query_payload_decode(&at->payload, at->schema, at->event->payload, at->event->payload_size);
}

int query_event_field(void *context, unsigned index, struct query_value *value)
{
	struct query_event_fields *at = context;
	const struct query_location *location = &at->locations[index];
	int status;

	*value = (struct query_value){0};
	if (query_event_number(context, index, &value->number)) {
		value->kind = QUERY_VALUE_NUMBER;
		return 0;
	}
	status = location->field ? decode_fields(at) : 0;
	if (status < 0 || !location->field)
		return status;
	return query_payload_value(&at->payload, location, &at->loops, &at->scratch, value);
}

int query_event_elements(void *context, unsigned index, uint32_t *count, bool *there)
{
	struct query_event_fields *at = context;
	const struct query_location *location = &at->locations[index];
	int status = decode_fields(at);

	*count = 0;
	*there = location->field && location->whole;
	if (status < 0 || !*there)
		return status;
	*count = query_payload_elements(&at->payload, location, &at->loops);
	return 0;
}

int query_event_truth(struct query_event_fields *at, struct query_scope *scope, const struct query_expr *expr,
		      bool *truth)
{
	int status;

	scope->scratch = &at->scratch;
	scope->event = at->event;
	scope->field = query_event_field;
	scope->number = query_event_number;
	scope->elements = query_event_elements;
	scope->loops = &at->loops;
	status = query_evaluate_truth(scope, expr, truth);
	common_arena_reset(&at->scratch);
	return status;
}
