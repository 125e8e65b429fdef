/* SPDX-License-Identifier: BSD-2-Clause */
/* Evaluates the names of an expression for an event. One walk over the payload evaluates all conditions. */
#include "analysis/event/event_query.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "query/value_names.h"

#define DEPTH_MAX 16

/* ---- expressions --------------------------------------------------------------------------------- */

static const char *option_of(const struct analysis_query *query)
{
	return query->option ? query->option : "--where";
}

int analysis_query_add(struct analysis_query *query, const char *text)
{
	struct query_expr *expr = NULL;
	const int status = query_parse_condition(option_of(query), text, &query->arena, &query->fields,
						 &query->conditions, &expr);

	return status < 0 ? query_misuse(status) : query_join(&query->arena, &query->expr, expr);
}

void analysis_query_free(struct analysis_query *query)
{
	common_arena_free(&query->arena);
	query_event_fields_free(&query->at);
	query_files_free(&query->files);
	common_bytes_free(&query->path);
	common_bytes_free(&query->text);
	common_bytes_free(&query->characters);
	free(query->failure);
	*query = (struct analysis_query){0};
}

const char *analysis_query_field(const struct analysis_query *query, size_t i, const char **name)
{
	const struct query_conditions *conditions = &query->conditions;
	const char *dot;

	if (i < conditions->count) {
		dot = strrchr(conditions->list[i].field, '.');
		*name = dot ? dot + 1 : conditions->list[i].field;
		return conditions->list[i].field;
	}
	i -= conditions->count;
	for (size_t k = 0; k < query->fields.count; k++) {
		const struct query_field *field = &query->fields.list[k];

		if (!field->condition || i--)
			continue;
		for (size_t step = 0; step < field->step_count; step++)
			*name = field->steps[step].name ? field->steps[step].name : *name;
		return field->text;
	}
	return NULL;
}

static bool has_field(const struct ptl_trace *trace, const char *name)
{
	for (size_t i = 0; i < ptl_schema_count(trace); i++) {
		const struct ptl_schema *schema = ptl_schema_at(trace, i);

		for (size_t k = 0; k < schema->field_count; k++)
			if (strcmp(schema->fields[k].name, name) == 0)
				return true;
	}
	return false;
}

void analysis_query_note_fields(const struct analysis_query *query, const struct ptl_trace *trace)
{
	const char *field, *name = "";

	for (size_t i = 0; (field = analysis_query_field(query, i, &name)); i++)
		if (!has_field(trace, name))
			common_message_note("no event of this trace has a field called %s", field);
}

/* ---- conditions ---------------------------------------------------------------------------------- */

/* Returns the bits of the named map entries, "Read||Write". */
static uint64_t bits_of_names(const struct ptl_map *map, const char *names)
{
	uint64_t bits = 0;

	while (*names) {
		const size_t length = strcspn(names, "|");
		const struct ptl_map_entry *entry;

		for (size_t at = 0; map && (entry = query_next_named(map, &at, names, length));)
			bits |= entry->value;
		names += length + (names[length] == '|');
	}
	return bits;
}

static bool meets_value(struct analysis_query *query, const struct query_condition *condition,
			const struct ptl_value *value)
{
	struct analysis_number number;
	const bool has_number = analysis_value_number(&number, query->values, value);

	if (condition->test == QUERY_TEST_BITS) {
		const uint64_t bits = condition->is_number ? (uint64_t)condition->number
							   : bits_of_names(analysis_values_map(query->values, value),
									   condition->text);

		return has_number && !number.is_float && (number.u & bits);
	}
	if (has_number && condition->is_number && condition->test != QUERY_TEST_GLOB) {
		const struct query_value shown = {
			.kind = number.is_float ? QUERY_VALUE_REAL : QUERY_VALUE_NUMBER,
			.number = number.is_float    ? 0
				  : number.is_signed ? (query_number)number.i
						     : (query_number)number.u,
			.real = number.is_float ? number.f : 0,
		};

		return query_condition_number(condition, &shown);
	}
	query->text.size = 0;
	if (!analysis_value_string(&query->text, value))
		analysis_text_value(&query->text, query->values, value, false);
	return query_condition_text(condition, common_text_string(&query->text), query->text.size,
				    value->field->type == PTL_TYPE_GUID);
}

struct walk {
	struct analysis_query *query;
	size_t path_sizes[DEPTH_MAX];
	bool is_characters;
};

static const char *path_of(struct ptl_bytes *before, const struct ptl_value *value)
{
	const size_t size = before->size;
	const char *path;

	if (!size)
		return value->field->name;
	common_text_add(before, value->field->name);
	path = common_text_string(before);
	before->size = size;
	return path;
}

/*
 * Evaluates the conditions on the field of a value. text: the text of a whole array, compared instead of the value; or
 * NULL.
 */
static void check_conditions(struct analysis_query *query, const struct ptl_value *value, const struct ptl_bytes *text)
{
	const char *path = path_of(&query->path, value);

	for (size_t i = 0; i < query->conditions.count; i++) {
		const struct query_condition *condition = &query->conditions.list[i];

		if ((query->fulfilled >> i & 1) || strcmp(path, condition->field) != 0)
			continue;
		query->seen |= UINT64_C(1) << i;
		if (text ? query_condition_text(condition, (const char *)text->data, text->size - 1, false)
			 : meets_value(query, condition, value))
			query->fulfilled |= UINT64_C(1) << i;
	}
}

static void end_characters(struct walk *walk, const struct ptl_value *value)
{
	struct analysis_query *query = walk->query;

	walk->is_characters = false;
	query->text.size = 0;
	analysis_text_array_string(&query->text, value->field, query->characters.data, query->characters.size);
	common_write_bytes(&query->text, "", 1);
	if (!query->text.failed)
		check_conditions(query, value, &query->text);
}

static int query_visit(void *context, enum ptl_step step, const struct ptl_value *value)
{
	struct walk *walk = context;
	struct analysis_query *query = walk->query;

	switch (step) {
	case PTL_STEP_VALUE:
		if (walk->is_characters)
			common_write_bytes(&query->characters, value->bytes, value->size);
		else
			check_conditions(query, value, NULL);
		break;
	case PTL_STEP_ARRAY:
		walk->is_characters = analysis_is_text_array(value->field);
		query->characters.size = 0;
		break;
	case PTL_STEP_ARRAY_END:
		if (walk->is_characters)
			end_characters(walk, value);
		break;
	case PTL_STEP_STRUCT:
		walk->path_sizes[value->depth] = query->path.size;
		common_text_add(&query->path, value->field->name);
		common_text_add(&query->path, ".");
		break;
	case PTL_STEP_STRUCT_END:
		query->path.size = walk->path_sizes[value->depth];
		break;
	}
	return query->fulfilled == UINT64_MAX >> (QUERY_CONDITIONS_MAX - query->conditions.count) ? PTL_CANCELLED : 0;
}

static int condition(void *context, unsigned index, struct query_value *value)
{
	struct analysis_query *query = context;
	struct walk walk = {.query = query};

	if (!query->walked && query->at.schema) {
		query->values->schema = query->at.schema;
		query->path.size = 0;
		(void)ptl_payload_walk(query->at.schema, query->at.event->payload, query->at.event->payload_size,
				       query_visit, &walk, NULL);
	}
	query->walked = true;
	*value = (struct query_value){
		.kind = query->seen >> index & 1 ? QUERY_VALUE_BOOL : QUERY_VALUE_NONE,
		.truth = query->fulfilled >> index & 1,
	};
	return 0;
}

/* ---- programs ------------------------------------------------------------------------------------ */

static const char *program_of_event(void *context)
{
	const struct analysis_query *query = context;
	const struct ptl_event *event = query->at.event;
	const uint32_t process = flow_timeline_process_at(query->timeline, event->pid, event->time);
	const struct flow_program *found = process == FLOW_NONE
						   ? NULL
						   : flow_timeline_program_at(query->timeline, process, event->time);

	return found ? found->path : "";
}

/* ---- an event ------------------------------------------------------------------------------------ */

static int evaluate(struct analysis_query *query, bool *truth)
{
	struct query_scope scope = {
		.name = option_of(query),
		.files = &query->files,
		.program = query->timeline ? program_of_event : NULL,
		.condition = condition,
		.context = query,
	};

	return query_event_truth(&query->at, &scope, query->expr, truth);
}

/* Resets buffers that failed for lack of memory, so that the next event can use them. */
static void forget_failures(struct analysis_query *query)
{
	struct ptl_bytes *const buffers[] = {&query->path, &query->text, &query->characters};

	for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
		if (buffers[i]->failed)
			common_bytes_free(buffers[i]);
}

bool analysis_query_matches(struct analysis_query *query, struct analysis_values *values, const struct ptl_event *event,
			    const struct ptl_schema *schema)
{
	bool truth = false;

	if (!query->expr)
		return true;
	query->files.folder = "";
	query->values = values;
	query->walked = false;
	query->fulfilled = query->seen = 0;
	forget_failures(query);
	if (!query_event_fields_set(&query->at, &query->fields, event, schema) && !evaluate(query, &truth))
		return truth;
	query->failures++;
	if (!query->failure)
		query->failure = strdup(ptl_error_text());
	return false;
}
