/* SPDX-License-Identifier: BSD-2-Clause */
/* What expressions can call, and what they can ask of an event's header. */
#include "relog/rules/functions.h"

#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/guid.h"
#include "relog/rules/glob.h"

static int give_text(const struct rules_scope_of *scope, const char *text, size_t size, struct rules_value *value)
{
	*value = (struct rules_value){.kind = RULES_VALUE_TEXT, .size = size};
	value->text = rules_copy(scope->scratch, text, size);
	return value->text ? 0 : PTL_NO_MEMORY;
}

static int give_number(uint64_t number, struct rules_value *value)
{
	*value = (struct rules_value){.kind = RULES_VALUE_NUMBER, .number = number};
	return 0;
}

static int give_guid(const struct rules_scope_of *scope, const struct ptl_guid *guid, bool there,
		     struct rules_value *value)
{
	char text[PTL_GUID_TEXT_SIZE] = "";

	if (there)
		common_guid_format(guid, text);
	return give_text(scope, text, strlen(text), value);
}

static const char *program_of(const struct rules_scope_of *scope)
{
	return scope->program ? scope->program(scope->context) : "";
}

int rules_header_value(const struct rules_scope_of *scope, enum rules_header header, struct rules_value *value)
{
	const struct ptl_event *event = scope->event;
	const struct ptl_descriptor *descriptor = &event->descriptor;
	const char *program, *name;

	switch (header) {
	case RULES_HEADER_PROVIDER:
		return give_guid(scope, &descriptor->provider, true, value);
	case RULES_HEADER_ID:
		return give_number(descriptor->id, value);
	case RULES_HEADER_VERSION:
		return give_number(descriptor->version, value);
	case RULES_HEADER_CHANNEL:
		return give_number(descriptor->channel, value);
	case RULES_HEADER_LEVEL:
		return give_number(descriptor->level, value);
	case RULES_HEADER_OPCODE:
		return give_number(descriptor->opcode, value);
	case RULES_HEADER_TASK:
		return give_number(descriptor->task, value);
	case RULES_HEADER_KEYWORD:
		return give_number(descriptor->keyword, value);
	case RULES_HEADER_PID:
		return give_number(event->pid, value);
	case RULES_HEADER_TID:
		return give_number(event->tid, value);
	case RULES_HEADER_CPU:
		return give_number(event->cpu, value);
	case RULES_HEADER_TIME:
		return give_number(event->time, value);
	case RULES_HEADER_ACTIVITY:
		return give_guid(scope, &event->activity, event->flags & PTL_EVENT_HAS_ACTIVITY, value);
	case RULES_HEADER_RELATED:
		return give_guid(scope, &event->related, event->flags & PTL_EVENT_HAS_RELATED, value);
	case RULES_HEADER_PROCESS:
		program = program_of(scope);
		name = strrchr(program, '/');
		name = name ? name + 1 : program;
		return give_text(scope, name, strlen(name), value);
	case RULES_HEADER_PATH:
		program = program_of(scope);
		return give_text(scope, program, strlen(program), value);
	default:
		return give_number(event->payload_size, value);
	}
}

/* ---- numbers as text --------------------------------------------------------------------- */

static int call_str(const struct rules_scope_of *scope, const struct rules_expr *expr,
		    const struct rules_value *argument, struct rules_value *value)
{
	bool hex = expr->index == RULES_HEX, negative = argument->number < 0;
	unsigned __int128 rest = negative ? -(unsigned __int128)argument->number : (unsigned __int128)argument->number;
	unsigned base = hex ? 16 : 10;
	char text[64], *at = text + sizeof(text);

	if (argument->kind != RULES_VALUE_NUMBER)
		return rules_wrong(scope, expr->argument[0], "a whole number", argument);
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

static int call_lower(const struct rules_scope_of *scope, const struct rules_value *argument, struct rules_value *value)
{
	char *text = rules_copy(scope->scratch, argument->text, argument->size);

	if (!text)
		return PTL_NO_MEMORY;
	for (size_t i = 0; i < argument->size; i++)
		if (text[i] >= 'A' && text[i] <= 'Z')
			text[i] = (char)(text[i] - 'A' + 'a');
	*value = (struct rules_value){.kind = RULES_VALUE_TEXT, .text = text, .size = argument->size};
	return 0;
}

/* The part behind the last slash, or the one before it ("" where there is none). */
static int call_part(const struct rules_scope_of *scope, bool base, const struct rules_value *argument,
		     struct rules_value *value)
{
	const char *slash = argument->size ? memrchr(argument->text, '/', argument->size) : NULL;
	size_t behind = slash ? (size_t)(slash - argument->text) + 1 : 0;

	if (base)
		return give_text(scope, argument->text + behind, argument->size - behind, value);
	return give_text(scope, argument->text, behind > 1 ? behind - 1 : behind, value);
}

static int call_replace(const struct rules_scope_of *scope, const struct rules_expr *expr,
			const struct rules_value *argument, struct rules_value *value)
{
	struct rules_captures captures;
	const char *pattern, *replacement;
	struct ptl_bytes out = {0};
	int status = rules_evaluate_text(scope, expr->argument[1], "", &pattern);

	if (!status)
		status = rules_evaluate_text(scope, expr->argument[2], "", &replacement);
	if (status < 0)
		return status;
	*value = *argument;
	if (!rules_glob(pattern, argument->text, argument->size, &captures))
		return 0;
	rules_replace(&out, replacement, &captures);
	status = out.failed ? common_fail_memory("a text", out.size)
			    : give_text(scope, (const char *)out.data, out.size, value);
	common_bytes_free(&out);
	return status;
}

static int call_guid(const struct rules_scope_of *scope, const struct rules_expr *expr, struct rules_value *value)
{
	struct ptl_guid guid;
	const char *text;
	int status = rules_evaluate_text(scope, expr->argument[0], "", &text);

	if (status < 0)
		return status;
	if (!common_guid_parse(text, &guid))
		return rules_fail_at(scope->rules, expr->argument[0]->at,
				     "expected a GUID such as 9e814aad-3204-11d2-9a82-006008a86939, found "
				     "\"%.40s\"",
				     text);
	return give_text(scope, (const char *)guid.bytes, sizeof(guid.bytes), value);
}

/* ---- files ------------------------------------------------------------------------------- */

static int call_number_in_file(const struct rules_scope_of *scope, const struct rules_expr *expr,
			       struct rules_value *value)
{
	size_t size = (size_t)1 << (expr->index - RULES_U8);
	const char *name;
	uint8_t bytes[8];
	uint64_t offset;
	int status = rules_evaluate_text(scope, expr->argument[0], "", &name);

	if (!status)
		status = rules_evaluate_number(scope, expr->argument[1], UINT64_MAX, 0, &offset);
	if (status < 0)
		return status;
	status = rules_files_read_at(scope->files, name, offset, bytes, size);
	if (status < 0)
		return common_fail_in(status, "%s:%u:%u", scope->rules->name, expr->at.line, expr->at.column);
	return give_number(common_load_le(bytes, size), value);
}

int rules_call(const struct rules_scope_of *scope, const struct rules_expr *expr, struct rules_value *value)
{
	struct rules_value argument;
	int status;

	if (expr->index >= RULES_U8)
		return call_number_in_file(scope, expr, value);
	if (expr->index == RULES_GUID)
		return call_guid(scope, expr, value);
	status = rules_evaluate(scope, expr->argument[0], &argument);
	if (status < 0)
		return status;
	if (expr->index == RULES_HAS) {
		*value = (struct rules_value){.kind = RULES_VALUE_BOOL, .truth = argument.kind != RULES_VALUE_NONE};
		return 0;
	}
	*value = argument;
	if (argument.kind == RULES_VALUE_NONE)
		return 0;
	if (expr->index == RULES_STR || expr->index == RULES_HEX)
		return call_str(scope, expr, &argument, value);
	if (argument.kind != RULES_VALUE_TEXT)
		return rules_wrong(scope, expr->argument[0], "a text", &argument);
	switch (expr->index) {
	case RULES_LEN:
		return give_number(argument.size, value);
	case RULES_LOWER:
		return call_lower(scope, &argument, value);
	case RULES_REPLACE:
		return call_replace(scope, expr, &argument, value);
	default:
		return call_part(scope, expr->index == RULES_BASENAME, &argument, value);
	}
}
