/* SPDX-License-Identifier: BSD-2-Clause */
/* Binds names in an expression to fields of a table. */
#include "query/row.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/program/options.h"
#include "common/text/nearest.h"
#include "common/text/text.h"
#include "query/evaluate.h"
#include "query/function_name.h"

#define VALUE_PREFIX "$value." /* before the name of a value that is a field's name, too */
#define LISTED_MAX 32u         /* names of values in a message */

static const char *name_of(const struct query_row *query)
{
	return query->option ? query->option : "--where";
}

/* ---- names --------------------------------------------------------------------------------------- */

/* values: names of events' values; NULL: none. */
static int refuse_name(const struct query_row *query, struct query_place at, const char *name,
		       const struct common_string_list *values)
{
	const size_t value_count = values ? values->count : 0;
	const size_t listed = value_count < LISTED_MAX ? value_count : LISTED_MAX;
	struct common_nearest nearest = {.word = name};
	struct ptl_bytes names = {0};
	int status;

	for (size_t i = 0; query->table[i].name; i++) {
		common_nearest_look(&nearest, query->table[i].name);
		common_text_format(&names, "%s%s", i ? ", " : "", query->table[i].name);
	}
	if (listed)
		common_text_add(&names, "; values of events are ");
	for (size_t i = 0; i < value_count; i++) {
		common_nearest_look(&nearest, values->list[i]);
		if (i < listed) {
			common_text_add(&names, i ? ", " : "");
			common_text_safe(&names, values->list[i]);
		}
	}
	if (listed < value_count)
		common_text_format(&names, " and %zu others", value_count - listed);
	status = query_fail_at(name_of(query), at, "there is no field '%s' here%s; there are %s", name,
			       common_nearest_question(&nearest), common_text_string(&names));
	common_bytes_free(&names);
	return status;
}

/* Finds or adds an event's value. *field: index behind the indexes of the table. */
static int add_value(struct query_row *query, struct query_place at, const char *name, unsigned *field)
{
	unsigned i = 0;

	query->varies = true;
	while (i < query->value_count && strcmp(query->values[i].name, name) != 0)
		i++;
	*field = query->table_count + i;
	if (i == query->value_count)
		query->values[query->value_count++] = (struct query_row_value){name, at};
	return 0;
}

static int find_field(struct query_row *query, struct query_place at, const char *name, unsigned *field)
{
	if (query->takes_values && !strncmp(name, VALUE_PREFIX, strlen(VALUE_PREFIX)))
		return add_value(query, at, name + strlen(VALUE_PREFIX), field);
	for (*field = 0; query->table[*field].name; ++*field) {
		if (strcmp(query->table[*field].name, name) != 0)
			continue;
		query->varies |= query->table[*field].varies;
		query->used |= *field < 64 ? (uint64_t)1 << *field : 0;
		return 0;
	}
	return query->takes_values ? add_value(query, at, name, field) : refuse_name(query, at, name, NULL);
}

int query_row_refuse_value(const struct query_row *query, unsigned value, const struct common_string_list *values)
{
	return query_misuse(refuse_name(query, query->values[value].at, query->values[value].name, values));
}

static enum query_row_kind kind_of(const struct query_row *query, unsigned field)
{
	return field < query->table_count ? query->table[field].kind : QUERY_ROW_VALUE;
}

/* Checks the literal: a number, or, for a duration, a number with a unit such as 1.5ms. */
static int check_literal(const struct query_row *query, unsigned index, struct query_condition *condition)
{
	const struct query_row_field *field = &query->table[index < query->table_count ? index : 0];
	uint64_t nanoseconds;

	const bool is_text = field->kind == QUERY_ROW_TEXT || field->kind == QUERY_ROW_FUNCTION;

	if (index >= query->table_count)
		return 0;
	if (is_text && condition->test == QUERY_TEST_BITS)
		return query_fail_at(name_of(query), condition->at, "expected == , != or ~ behind '%s', found &",
				     field->name);
	if (is_text || condition->is_number)
		return 0;
	if (field->kind == QUERY_ROW_DURATION && common_parse_duration(condition->text, &nanoseconds) == 0) {
		condition->is_number = true;
		condition->number = nanoseconds;
		return 0;
	}
	return query_fail_at(name_of(query), condition->at, "expected a number%s behind '%s', found %.40s",
			     field->kind == QUERY_ROW_DURATION ? " (of nanoseconds, or with a unit: 1.5ms)" : "",
			     field->name, condition->text);
}

/* Returns the field's name. Fields of rows have no members or elements. */
static const char *field_name_of(const struct query_field *field)
{
	return field->step_count == 1 && field->steps[0].name ? field->steps[0].name : field->text;
}

static int bind(struct query_row *query)
{
	int status = 0;

	query->of_field = common_arena_zeroed(&query->arena, (query->fields.count + 1) * sizeof(*query->of_field));
	query->of_condition = common_arena_zeroed(&query->arena,
						  (query->conditions.count + 1) * sizeof(*query->of_condition));
	query->values = common_arena_zeroed(&query->arena, (query->fields.count + query->conditions.count + 1) *
								   sizeof(*query->values));
	if (!query->of_field || !query->of_condition || !query->values)
		return PTL_NO_MEMORY;
	while (query->table[query->table_count].name)
		query->table_count++;
	for (size_t i = 0; status == 0 && i < query->fields.count; i++)
		status = find_field(query, query->fields.list[i].at, field_name_of(&query->fields.list[i]),
				    &query->of_field[i]);
	for (size_t i = 0; status == 0 && i < query->conditions.count; i++) {
		struct query_condition *condition = &query->conditions.list[i];

		status = find_field(query, condition->at, condition->field, &query->of_condition[i]);
		if (status == 0)
			status = check_literal(query, query->of_condition[i], condition);
	}
	return status;
}

/* Refuses event headers: rows have no event. */
static int check_header(const struct query_row *query, const struct query_expr *expr)
{
	int status = 0;

	if (expr->op == QUERY_HEADER || expr->op == QUERY_PID)
		return query_fail_at(name_of(query), expr->at, "this is not about events: there is no event.%s",
				     expr->op == QUERY_PID ? "pid" : query_header_names[expr->index]);
	for (unsigned i = 0; status == 0 && i < QUERY_ARGUMENTS_MAX; i++)
		if (expr->argument[i])
			status = check_header(query, expr->argument[i]);
	return status;
}

int query_row_make(struct query_row *query, const struct query_row_field *table, const struct common_string_list *texts)
{
	int status = 0;

	query->table = table;
	for (size_t i = 0; status == 0 && i < texts->count; i++) {
		struct query_expr *expr = NULL;

		status = query_parse_condition(name_of(query), texts->list[i], &query->arena, &query->fields,
					       &query->conditions, &expr);
		if (status == 0)
			status = check_header(query, expr);
		if (status == 0)
			status = query_join(&query->arena, &query->expr, expr);
	}
	if (status == 0)
		status = bind(query);
	return query_misuse(status);
}

void query_row_free(struct query_row *query)
{
	common_arena_free(&query->arena);
	*query = (struct query_row){0};
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static int field_value(void *context, unsigned index, struct query_value *value)
{
	const struct query_row_asker *asker = context;

	*value = (struct query_value){0};
	asker->get(asker->context, asker->query->of_field[index], value);
	return 0;
}

static bool field_number(void *context, unsigned index, query_number *number)
{
	struct query_value value;

	(void)field_value(context, index, &value);
	*number = value.number;
	return value.kind == QUERY_VALUE_NUMBER;
}

/* Fields of rows have no elements. */
static int elements(void *context, unsigned index, uint32_t *count, bool *there)
{
	(void)context;
	(void)index;
	*count = 0;
	*there = false;
	return 0;
}

static bool meets_function(const struct query_condition *condition, const struct query_value *value)
{
	const bool meets_text = query_condition_text(condition, value->text, value->size, false);

	switch (condition->test) {
	case QUERY_TEST_EQUAL:
	case QUERY_TEST_GLOB:
		return meets_text || query_function_is_called(value->text, condition->text);
	case QUERY_TEST_UNEQUAL:
		return meets_text && !query_function_is_called(value->text, condition->text);
	default:
		return meets_text;
	}
}

/* Numbers with names: conditions compare the number or the name. */
static bool meets_value(const struct query_condition *condition, const struct query_value *value)
{
	const bool is_number = value->kind == QUERY_VALUE_NUMBER || value->kind == QUERY_VALUE_REAL;

	if (!is_number || (value->text && !condition->is_number))
		return query_condition_text(condition, value->text, value->size, false);
	if (condition->test == QUERY_TEST_BITS)
		return value->kind == QUERY_VALUE_NUMBER && (value->number & condition->number) != 0;
	return condition->is_number && query_condition_number(condition, value);
}

static bool meets(const struct query_condition *condition, enum query_row_kind kind, const struct query_value *value)
{
	char digits[48];

	if (kind == QUERY_ROW_VALUE)
		return meets_value(condition, value);

	if (kind == QUERY_ROW_FUNCTION && value->kind == QUERY_VALUE_TEXT)
		return meets_function(condition, value);

	if (value->kind == QUERY_VALUE_TEXT)
		return query_condition_text(condition, value->text, value->size, false);
	if (condition->test == QUERY_TEST_BITS)
		return value->number & condition->number;
	if (condition->test != QUERY_TEST_GLOB)
		return query_condition_number(condition, value);
	snprintf(digits, sizeof(digits), "%" PRIu64, (uint64_t)value->number);
	return query_condition_text(condition, digits, strlen(digits), false);
}

static int condition(void *context, unsigned index, struct query_value *value)
{
	const struct query_row_asker *asker = context;
	const unsigned at = asker->query->of_condition[index];
	struct query_value field = {0};

	asker->get(asker->context, at, &field);
	*value = (struct query_value){
		.kind = field.kind == QUERY_VALUE_NONE ? QUERY_VALUE_NONE : QUERY_VALUE_BOOL,
		.truth = field.kind != QUERY_VALUE_NONE &&
			 meets(&asker->query->conditions.list[index], kind_of(asker->query, at), &field),
	};
	return 0;
}

bool query_row_matches(struct query_row_asker *asker)
{
	struct query_loops loops = {0};
	const struct query_scope scope = {
		.name = name_of(asker->query),
		.files = &asker->files,
		.scratch = &asker->scratch,
		.field = field_value,
		.number = field_number,
		.elements = elements,
		.condition = condition,
		.loops = &loops,
		.context = asker,
	};
	const struct query_expr *expr = asker->query->expr;
	bool truth = true;
	int status = 0;

	asker->files.folder = "";
	if (expr)
		status = query_evaluate_truth(&scope, expr, &truth);
	common_arena_reset(&asker->scratch);
	if (status == 0)
		return truth;
	asker->failures++;
	if (!asker->failure)
		asker->failure = strdup(ptl_error_text());
	return false;
}

void query_row_asker_end(struct query_row_asker *asker)
{
	if (asker->failures)
		common_message_warning("%s (so it is for %" PRIu64 " of those that were asked: they are not shown)",
				       asker->failure ? asker->failure : "out of memory", asker->failures);
	common_arena_free(&asker->scratch);
	query_files_free(&asker->files);
	free(asker->failure);
	asker->failures = 0;
	asker->failure = NULL;
}
