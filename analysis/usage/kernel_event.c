/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/usage/kernel_event.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/event/value.h"
#include "common/error.h"
#include "common/vector.h"

#define NO_SLOT UINT8_MAX

struct usage_known_schema {
	const struct usage_event_type *type;
	uint8_t *slots; /* by field of the schema: index of the value; NO_SLOT: not wanted; owned */
};

static bool matches_name(const char *pattern, const char *name)
{
	const size_t size = strlen(pattern);

	return size && pattern[size - 1] == '*' ? !strncmp(pattern, name, size - 1) : !strcmp(pattern, name);
}

static const struct usage_event_type *type_of(const struct usage_events *events, const struct ptl_schema *schema)
{
	for (size_t i = 0; i < events->type_count; i++)
		if (!strcmp(events->types[i].provider, schema->provider_name) &&
		    matches_name(events->types[i].event, schema->event_name))
			return &events->types[i];
	return NULL;
}

static uint8_t slot_of(const struct usage_event_type *type, const char *name)
{
	for (uint8_t i = 0; i < USAGE_VALUES_MAX && type->fields[i]; i++)
		if (!strcmp(type->fields[i], name))
			return i;
	return NO_SLOT;
}

/* Adds a schema. Returns its index in `known`, or UINT64_MAX for a schema of no type. */
static int add_schema(struct usage_events *events, const struct ptl_schema *schema, uint64_t *index)
{
	const struct usage_event_type *type = type_of(events, schema);
	uint8_t *slots;

	*index = UINT64_MAX;
	if (type) {
		if (COMMON_VECTOR_RESERVE(events->known, events->known_capacity, events->known_count + 1, "schemas"))
			return PTL_NO_MEMORY;
		slots = malloc(schema->field_count + 1);
		if (!slots)
			return common_fail_memory("schemas", schema->field_count);
		for (size_t i = 0; i < schema->field_count; i++)
			slots[i] = slot_of(type, schema->fields[i].name);
		*index = events->known_count;
		events->known[events->known_count++] = (struct usage_known_schema){type, slots};
	}
	return common_hash_map_put(&events->by_schema, (uintptr_t)schema, *index);
}

struct reading {
	struct usage_event *result;
	const uint8_t *slots;
};

static int take_value(void *context, const struct ptl_value *value)
{
	const struct reading *reading = context;
	const uint8_t slot = reading->slots[value->field - reading->result->schema->fields];
	struct usage_value *to = &reading->result->values[slot == NO_SLOT ? 0 : slot];

	if (slot == NO_SLOT || value->index >= USAGE_ELEMENTS_MAX)
		return 0;
	if (!value->index) {
		to->given = true;
		to->field = value->field;
		to->number = value->u;
		to->bytes = value->bytes;
		to->size = value->size;
	}
	to->elements[value->index] = value->u;
	return 0;
}

int usage_event_read(struct usage_events *events, const struct ptl_trace *trace, const struct ptl_event *event,
		     struct usage_event *result)
{
	const struct ptl_schema *schema = ptl_schema_of(trace, event);
	const uint64_t *known = schema ? common_hash_map_get(&events->by_schema, (uintptr_t)schema) : NULL;
	struct reading reading = {.result = result};
	uint64_t index;
	int status;

	if (!schema)
		return 0;
	if (!known) {
		status = add_schema(events, schema, &index);
		if (status < 0)
			return status;
	} else {
		index = *known;
	}
	if (index == UINT64_MAX)
		return 0;
	*result = (struct usage_event){.type = events->known[index].type, .schema = schema, .event = event};
	reading.slots = events->known[index].slots;
	(void)ptl_payload_decode(schema, event->payload, event->payload_size, take_value, &reading, NULL);
	return 1;
}

void usage_events_free(struct usage_events *events)
{
	for (size_t i = 0; i < events->known_count; i++)
		free(events->known[i].slots);
	free(events->known);
	common_hash_map_free(&events->by_schema);
	events->known = NULL;
	events->known_count = events->known_capacity = 0;
}

uint32_t usage_machine_id(const struct ptl_event *event, uint64_t id)
{
	const uint32_t header = event->cpu != PTL_NO_CPU ? event->cpu : event->pid;
	const uint32_t base = header == PTL_NO_ID ? 0 : header / PTL_MACHINE_IDS * PTL_MACHINE_IDS;

	return id < PTL_MACHINE_IDS ? (uint32_t)id + base : id > UINT32_MAX ? PTL_NO_ID : (uint32_t)id;
}

void usage_value_text(const struct usage_value *value, struct ptl_bytes *text)
{
	const struct ptl_value shown = {
		.field = value->field, .bytes = value->bytes, .size = value->size, .u = value->number};

	if (value->given)
		(void)analysis_value_string(text, &shown);
}
