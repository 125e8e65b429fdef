/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/event/call_values.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/event/value.h"
#include "common/error.h"
#include "common/hash_map.h"
#include "common/partition.h"
#include "common/vector.h"
#include "query/function_name.h"

#define PROVIDER "PTL-Values"
#define RETURN "/return"

/* A value of an event. */
struct entry {
	uint32_t tid;
	uint16_t index; /* in the query's values */
	uint16_t kind;  /* index in `kinds` */
	uint64_t time;
	uint64_t order; /* number in the order of the trace; UINT64_MAX in keys: behind all entries of a time */
	struct query_value value; /* texts are in the arena */
};

/* A kind of events. */
struct kind {
	const char *function; /* in the arena */
	bool returns;
	/* The events are of packets in the flow: an event may have the time at which its call began. */
	bool of_packets;
};

struct analysis_call_values {
	const struct query_row *query;
	struct common_arena arena;
	struct entry *list; /* ordered by thread, value, kind and time */
	size_t count, capacity;
	struct kind *kinds;
	size_t kind_count, kind_capacity;
	/* While reading: */
	struct analysis_names names;
	struct analysis_values values;
	struct ptl_bytes text;
	const struct ptl_event *event;
	uint16_t kind;
	bool *seen; /* by value of the query */
};

/* ---- reading ------------------------------------------------------------------------------------- */

static char *copy_text(struct common_arena *arena, const void *text, size_t size)
{
	char *copy = common_arena_zeroed(arena, size + 1);

	if (copy)
		memcpy(copy, text, size);
	return copy;
}

/* Sets the value, and the name of a number that has one. */
static int set_value(struct analysis_call_values *values, const struct ptl_value *from, struct query_value *value)
{
	const bool is_named = analysis_values_map(&values->values, from) != NULL;
	int status = query_value_of_field(from, &values->arena, value);

	if (status < 0 || (!is_named && (value->kind == QUERY_VALUE_NUMBER || value->kind == QUERY_VALUE_REAL)))
		return status;
	values->text.size = 0;
	analysis_text_plain_value(&values->text, &values->values, from);
	if (is_named) {
		values->text.size = 0;
		analysis_text_value(&values->text, &values->values, from, false);
	}
	value->text = values->text.failed ? NULL : copy_text(&values->arena, values->text.data, values->text.size);
	value->size = values->text.size;
	return value->text ? 0 : common_fail_memory("values of calls", values->text.size);
}

static int take_value(void *context, const struct ptl_value *from)
{
	struct analysis_call_values *values = context;
	const struct query_row *query = values->query;
	unsigned index = 0;
	struct entry *added;

	while (index < query->value_count && strcmp(query->values[index].name, from->field->name) != 0)
		index++;
	if (index == query->value_count)
		return 0;
	values->seen[index] = true;
	if (COMMON_VECTOR_RESERVE(values->list, values->capacity, values->count + 1, "values of calls"))
		return PTL_NO_MEMORY;
	added = &values->list[values->count++];
	*added = (struct entry){
		.tid = values->event->tid,
		.index = (uint16_t)index,
		.kind = values->kind,
		.time = values->event->time,
		.order = values->count,
	};
	return set_value(values, from, &added->value);
}

/*
 * Returns the function whose values events of the schema have: of ptl-record --values by the event's name, of ptwrite rules by
 * the task's. NULL: other events.
 */
static const char *function_of(const struct ptl_schema *schema)
{
	if (!strcmp(schema->provider_name, PROVIDER))
		return schema->event_name;
	return *schema->task_name && !*schema->opcode_name && !schema->task ? schema->task_name : NULL;
}

/* Finds or adds the kind of an event's name, "FUNCTION" or "FUNCTION/return". */
static int find_kind(struct analysis_call_values *values, const struct ptl_schema *schema)
{
	const bool of_packets = strcmp(schema->provider_name, PROVIDER) != 0;
	const char *name = function_of(schema);
	const size_t size = strlen(name), end = strlen(RETURN);
	const bool returns = !of_packets && size > end && !strcmp(name + size - end, RETURN);
	const size_t function = returns ? size - end : size;
	size_t i = 0;

	while (i < values->kind_count &&
	       (values->kinds[i].returns != returns || values->kinds[i].of_packets != of_packets ||
		strncmp(values->kinds[i].function, name, function) != 0 || values->kinds[i].function[function]))
		i++;
	values->kind = (uint16_t)i;
	if (i < values->kind_count || i == UINT16_MAX)
		return 0;
	if (COMMON_VECTOR_RESERVE(values->kinds, values->kind_capacity, i + 1, "values of calls"))
		return PTL_NO_MEMORY;
	values->kinds[i] = (struct kind){copy_text(&values->arena, name, function), returns, of_packets};
	if (!values->kinds[i].function)
		return common_fail_memory("values of calls", function);
	values->kind_count++;
	return 0;
}

static int take_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	const struct ptl_schema *schema = ptl_schema_of(trace, event);
	struct analysis_call_values *values = context;
	int status;

	if (!schema || !function_of(schema))
		return 0;
	status = find_kind(values, schema);
	if (status < 0)
		return status;
	values->event = event;
	values->values.schema = schema;
	/* A payload that ends early has the values before its end. */
	status = ptl_payload_decode(schema, event->payload, event->payload_size, take_value, values, NULL);
	return status == PTL_TRUNCATED || status == PTL_CORRUPT ? 0 : status;
}

static int compare_entries(const void *a_, const void *b_)
{
	const struct entry *a = a_, *b = b_;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Refuses a name that no event has. Names the values of the trace. */
static int refuse_value(const struct ptl_trace *trace, const struct query_row *query, unsigned value)
{
	struct common_string_list names = {0};
	struct common_byte_map seen = {0};
	int status = 0;

	for (size_t i = 0; status == 0 && i < ptl_schema_count(trace); i++) {
		const struct ptl_schema *schema = ptl_schema_at(trace, i);

		for (size_t j = 0; status == 0 && function_of(schema) && j < schema->field_count; j++) {
			const char *name = schema->fields[j].name;

			if (common_byte_map_get(&seen, name, strlen(name)))
				continue;
			status = common_byte_map_put(&seen, name, strlen(name), 1);
			if (status == 0)
				status = common_string_list_add(&names, name);
		}
	}
	if (status == 0)
		status = query_row_refuse_value(query, value, &names);
	common_byte_map_free(&seen);
	common_string_list_free(&names);
	return status;
}

int analysis_call_values_open(struct ptl_trace *trace, const struct query_row *query,
			      struct analysis_call_values **result)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = take_event};
	struct analysis_call_values *values;
	int status;

	*result = NULL;
	if (!query || !query->value_count)
		return 0;
	values = calloc(1, sizeof(*values));
	if (!values)
		return common_fail_memory("values of calls", sizeof(*values));
	*result = values;
	values->query = query;
	values->values.names = &values->names;
	values->values.start_time = ptl_trace_machine(trace)->start_time;
	values->seen = calloc(query->value_count, sizeof(*values->seen));
	if (!values->seen)
		return common_fail_memory("values of calls", query->value_count);
	status = analysis_names_load(&values->names, trace);
	if (status == 0)
		status = ptl_process(trace, NULL, &callbacks, values);
	for (unsigned i = 0; status == 0 && i < query->value_count; i++)
		if (!values->seen[i])
			status = refuse_value(trace, query, i);
	if (values->count)
		qsort(values->list, values->count, sizeof(*values->list), compare_entries);
	return status;
}

void analysis_call_values_close(struct analysis_call_values *values)
{
	if (!values)
		return;
	analysis_names_free(&values->names);
	common_bytes_free(&values->values.scratch);
	common_bytes_free(&values->text);
	common_arena_free(&values->arena);
	free(values->list);
	free(values->kinds);
	free(values->seen);
	free(values);
}

/* ---- calls --------------------------------------------------------------------------------------- */

/* Returns the index of the first entry of the kind that is later than the time. */
static size_t find_later(const struct analysis_call_values *values, uint32_t tid, unsigned index, size_t kind,
			 uint64_t time)
{
	const struct entry key = {
		.tid = tid, .index = (uint16_t)index, .kind = (uint16_t)kind, .time = time, .order = UINT64_MAX};

	return COMMON_PARTITION(values->count, i, compare_entries(&values->list[i], &key) <= 0);
}

void analysis_call_values_get(const struct analysis_call_values *values, const struct analysis_valued_call *call,
			      unsigned index, struct query_value *value)
{
	for (size_t kind = 0; values && kind < values->kind_count; kind++) {
		const bool of_packets = values->kinds[kind].of_packets;
		const size_t first = find_later(values, call->tid, index, kind,
						call->from - (of_packets && call->from));
		const size_t end = find_later(values, call->tid, index, kind, call->to);

		if (first >= end || !query_function_is_called(call->function, values->kinds[kind].function))
			continue;
		/* An event with the time of the begin may be of an earlier call; of several, the call's own is unknown. */
		if (of_packets && first + 1 < end && values->list[first + 1].time <= call->from)
			continue;
		*value = values->list[values->kinds[kind].returns ? end - 1 : first].value;
		return;
	}
}
