/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of expressions, and members of event headers. */
#include "query/functions.h"

#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "query/glob.h"

static int give_text(const struct query_scope *scope, const char *text, size_t size, struct query_value *value)
{
	*value = (struct query_value){.kind = QUERY_VALUE_TEXT, .size = size};
	value->text = common_arena_copy(scope->scratch, text, size);
	return value->text ? 0 : PTL_NO_MEMORY;
}

static int give_number(uint64_t number, struct query_value *value)
{
	*value = (struct query_value){.kind = QUERY_VALUE_NUMBER, .number = number};
	return 0;
}

static int give_guid(const struct query_scope *scope, const struct ptl_guid *guid, bool there,
		     struct query_value *value)
{
	char text[PTL_GUID_TEXT_SIZE] = "";

	if (there)
		common_guid_format(guid, text);
	return give_text(scope, text, strlen(text), value);
}

static const char *program_of(const struct query_scope *scope)
{
	return scope->program ? scope->program(scope->context) : "";
}

int query_header_value(const struct query_scope *scope, enum query_header header, struct query_value *value)
{
	const struct ptl_event *event = scope->event;
	const struct ptl_descriptor *descriptor = &event->descriptor;
	const char *program, *name;

	switch (header) {
	case QUERY_HEADER_PROVIDER:
		return give_guid(scope, &descriptor->provider, true, value);
	case QUERY_HEADER_ID:
		return give_number(descriptor->id, value);
	case QUERY_HEADER_VERSION:
		return give_number(descriptor->version, value);
	case QUERY_HEADER_CHANNEL:
		return give_number(descriptor->channel, value);
	case QUERY_HEADER_LEVEL:
		return give_number(descriptor->level, value);
	case QUERY_HEADER_OPCODE:
		return give_number(descriptor->opcode, value);
	case QUERY_HEADER_TASK:
		return give_number(descriptor->task, value);
	case QUERY_HEADER_KEYWORD:
		return give_number(descriptor->keyword, value);
	case QUERY_HEADER_PID:
		return give_number(event->pid, value);
	case QUERY_HEADER_TID:
		return give_number(event->tid, value);
	case QUERY_HEADER_CPU:
		return give_number(event->cpu, value);
	case QUERY_HEADER_TIME:
		return give_number(event->time, value);
	case QUERY_HEADER_ACTIVITY:
		return give_guid(scope, &event->activity, event->flags & PTL_EVENT_HAS_ACTIVITY, value);
	case QUERY_HEADER_RELATED:
		return give_guid(scope, &event->related, event->flags & PTL_EVENT_HAS_RELATED, value);
	case QUERY_HEADER_PROCESS:
		program = program_of(scope);
		name = strrchr(program, '/');
		name = name ? name + 1 : program;
		return give_text(scope, name, strlen(name), value);
	case QUERY_HEADER_PATH:
		program = program_of(scope);
		return give_text(scope, program, strlen(program), value);
	default:
		return give_number(event->payload_size, value);
	}
}

/* ---- numbers as text --------------------------------------------------------------------- */

static int call_str(const struct query_scope *scope, const struct query_expr *expr, const struct query_value *argument,
		    struct query_value *value)
{
	bool hex = expr->index == QUERY_HEX, negative = argument->number < 0;
	unsigned __int128 rest = negative ? -(unsigned __int128)argument->number : (unsigned __int128)argument->number;
	unsigned base = hex ? 16 : 10;
	char text[64], *at = text + sizeof(text);

	if (argument->kind != QUERY_VALUE_NUMBER)
		return query_wrong(scope, expr->argument[0], "a whole number", argument);
	do {
		*--at = "0123456789abcdef"[(unsigned)(rest % base)];
		rest /= base;
	} while (rest);
	if (hex) {
		*--at = 'x';
		*--at = '0';
	}
	if (negative)
		*--at = '-';
	return give_text(scope, at, (size_t)(text + sizeof(text) - at), value);
}

/* ---- texts ------------------------------------------------------------------------------- */

static int call_lower(const struct query_scope *scope, const struct query_value *argument, struct query_value *value)
{
	char *text = common_arena_copy(scope->scratch, argument->text, argument->size);

	if (!text)
		return PTL_NO_MEMORY;
	for (size_t i = 0; i < argument->size; i++)
		if (text[i] >= 'A' && text[i] <= 'Z')
			text[i] = (char)(text[i] - 'A' + 'a');
	*value = (struct query_value){.kind = QUERY_VALUE_TEXT, .text = text, .size = argument->size};
	return 0;
}

/* Returns the part behind the last slash, or the part before ("" without a slash). */
static int call_part(const struct query_scope *scope, bool base, const struct query_value *argument,
		     struct query_value *value)
{
	const char *slash = argument->size ? memrchr(argument->text, '/', argument->size) : NULL;
	size_t behind = slash ? (size_t)(slash - argument->text) + 1 : 0;

	if (base)
		return give_text(scope, argument->text + behind, argument->size - behind, value);
	return give_text(scope, argument->text, behind > 1 ? behind - 1 : behind, value);
}

static int call_replace(const struct query_scope *scope, const struct query_expr *expr,
			const struct query_value *argument, struct query_value *value)
{
	struct query_captures captures;
	const char *pattern, *replacement;
	struct ptl_bytes out = {0};
	int status = query_evaluate_text(scope, expr->argument[1], "", &pattern);

	if (!status)
		status = query_evaluate_text(scope, expr->argument[2], "", &replacement);
	if (status < 0)
		return status;
	*value = *argument;
	if (!query_glob(pattern, argument->text, argument->size, &captures))
		return 0;
	query_replace(&out, replacement, &captures);
	status = out.failed ? common_fail_memory("a text", out.size)
			    : give_text(scope, (const char *)out.data, out.size, value);
	common_bytes_free(&out);
	return status;
}

static int call_guid(const struct query_scope *scope, const struct query_expr *expr, struct query_value *value)
{
	struct ptl_guid guid;
	const char *text;
	int status = query_evaluate_text(scope, expr->argument[0], "", &text);

	if (status < 0)
		return status;
	if (!common_guid_parse(text, &guid))
		return query_fail_at(scope->name, expr->argument[0]->at,
				     "expected a GUID such as 9e814aad-3204-11d2-9a82-006008a86939, found "
				     "\"%.40s\"",
				     text);
	return give_text(scope, (const char *)guid.bytes, sizeof(guid.bytes), value);
}

/* ---- files ------------------------------------------------------------------------------- */

static int call_number_in_file(const struct query_scope *scope, const struct query_expr *expr,
			       struct query_value *value)
{
	size_t size = (size_t)1 << (expr->index - QUERY_U8);
	const char *name;
	uint8_t bytes[8];
	uint64_t offset;
	int status = query_evaluate_text(scope, expr->argument[0], "", &name);

	if (!status)
		status = query_evaluate_number(scope, expr->argument[1], UINT64_MAX, 0, &offset);
	if (status < 0)
		return status;
	status = query_files_read_at(scope->files, name, offset, bytes, size);
	if (status < 0)
		return common_fail_in(status, "%s:%u:%u", scope->name, expr->at.line, expr->at.column);
	return give_number(common_load_le(bytes, size), value);
}

int query_call(const struct query_scope *scope, const struct query_expr *expr, struct query_value *value)
{
	struct query_value argument;
	int status;

	if (expr->index >= QUERY_U8)
		return call_number_in_file(scope, expr, value);
	if (expr->index == QUERY_GUID)
		return call_guid(scope, expr, value);
	status = query_evaluate(scope, expr->argument[0], &argument);
	if (status < 0)
		return status;
	if (expr->index == QUERY_HAS) {
		*value = (struct query_value){.kind = QUERY_VALUE_BOOL, .truth = argument.kind != QUERY_VALUE_NONE};
		return 0;
	}
	*value = argument;
	if (argument.kind == QUERY_VALUE_NONE)
		return 0;
	if (expr->index == QUERY_STR || expr->index == QUERY_HEX)
		return call_str(scope, expr, &argument, value);
	if (argument.kind != QUERY_VALUE_TEXT)
		return query_wrong(scope, expr->argument[0], "a text", &argument);
	switch (expr->index) {
	case QUERY_LEN:
		return give_number(argument.size, value);
	case QUERY_LOWER:
		return call_lower(scope, &argument, value);
	case QUERY_REPLACE:
		return call_replace(scope, expr, &argument, value);
	default:
		return call_part(scope, expr->index == QUERY_BASENAME, &argument, value);
	}
}
