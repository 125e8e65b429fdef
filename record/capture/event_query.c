/* SPDX-License-Identifier: BSD-2-Clause */
/* Evaluates an expression over the fields of events. */
#include "record/capture/event_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "query/condition.h"
#include "query/event_fields.h"

struct record_event_query {
	struct query_event_fields at; /* first member: context of the expression's functions */
	struct common_arena arena;
	const char *name, *text;
	struct query_expr *expr;
	struct query_fields fields;
	const struct record_asked_event *asked_event;
	bool held;   /* was true for at least one event */
	bool failed; /* an evaluation failed, and a message said so */
};

/* ---- parsing --------------------------------------------------------------------------------- */

/* Refuses functions that read files. Events name the files, and slow files would delay the recording. */
static int refuse_files(const char *name, const struct query_expr *expr)
{
	int status = 0;

	if (expr->op == QUERY_CALL && expr->index >= QUERY_U8 && expr->index <= QUERY_U64)
		return query_fail_at(name, expr->at, "files are not read while recording: no u8, u16, u32 and u64");
	for (unsigned i = 0; status == 0 && i < QUERY_ARGUMENTS_MAX; i++)
		if (expr->argument[i])
			status = refuse_files(name, expr->argument[i]);
	return status;
}

static int parse_query(struct record_event_query *query, const char *name, const char *text)
{
	int status;

	query->name = name;
	query->text = common_arena_copy(&query->arena, text, strlen(text));
	status = query->text
			 ? query_parse_condition(name, query->text, &query->arena, &query->fields, NULL, &query->expr)
			 : PTL_NO_MEMORY;
	if (status == 0)
		status = refuse_files(name, query->expr);
	return query_misuse(status);
}

int record_event_query_new(const char *name, const char *text, struct record_event_query **query)
{
	struct record_event_query *made = calloc(1, sizeof(*made));
	int status;

	if (!made)
		return common_fail_memory("an expression", sizeof(*made));
	status = parse_query(made, name, text);
	if (status < 0)
		record_event_query_free(made);
	else
		*query = made;
	return status;
}

void record_event_query_free(struct record_event_query *query)
{
	if (!query)
		return;
	query_event_fields_free(&query->at);
	common_arena_free(&query->arena);
	free(query);
}

const char *record_event_query_text(const struct record_event_query *query)
{
	return query->text;
}

/* ---- events ---------------------------------------------------------------------------------- */

static const char *program_of_event(void *context)
{
	const struct record_event_query *query = context;
	const struct record_asked_event *asked_event = query->asked_event;
	struct record_program_name name;

	return asked_event->program && asked_event->program(asked_event->context, asked_event->event->pid, &name)
		       ? name.path
		       : "";
}

static const struct ptl_map *map(void *context, unsigned index)
{
	const struct record_event_query *query = context;
	const struct ptl_field *field = query->at.locations[index].field;

	return field && query->asked_event->schemas
		       ? record_schemas_map(query->asked_event->schemas, &query->at.schema->provider, field->map)
		       : NULL;
}

static int evaluate(struct record_event_query *query, bool *truth)
{
	struct query_files files = {.folder = ""};
	struct query_scope scope = {
		.name = query->name,
		.files = &files,
		.pid = query->at.event->pid,
		.program = program_of_event,
		.map = map,
		.context = query,
	};

	return query_event_truth(&query->at, &scope, query->expr, truth);
}

int record_event_query_holds(struct record_event_query *query, const struct record_asked_event *asked_event,
			     bool *truth)
{
	int status = query_event_fields_set(&query->at, &query->fields, asked_event->event, asked_event->schema);

	*truth = false;
	query->asked_event = asked_event;
	if (status == 0)
		status = evaluate(query, truth);
	query->held |= *truth;
	if (status == 0 || status == PTL_NO_MEMORY)
		return status;
	if (!query->failed)
		common_message_warning("%s: %s", query->text, ptl_error_text());
	query->failed = true;
	return 0;
}

static bool has_field(const struct record_schemas *schemas, const struct query_field *field)
{
	const struct ptl_schema *schema;
	struct query_location location;
	size_t at = 0;

	while ((schema = record_schemas_next(schemas, &at))) {
		query_locate(schema, field, &location);
		if (location.field)
			return true;
	}
	return false;
}

const char *record_event_query_unknown(const struct record_event_query *query, const struct record_schemas *schemas)
{
	for (size_t i = 0; !query->held && i < query->fields.count; i++)
		if (query->fields.list[i].condition && !has_field(schemas, &query->fields.list[i]))
			return query->fields.list[i].text;
	return NULL;
}
