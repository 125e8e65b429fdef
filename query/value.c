/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts values from and to payload fields. */
#include "query/value.h"

#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/text/utf16.h"

const char *query_value_name(const struct query_value *value)
{
	static const char *const names[] = {
		[QUERY_VALUE_NONE] = "nothing", [QUERY_VALUE_NUMBER] = "a number",    [QUERY_VALUE_REAL] = "a fraction",
		[QUERY_VALUE_TEXT] = "a text",  [QUERY_VALUE_BOOL] = "true or false",
	};

	return names[value->kind];
}

enum group { GROUP_UNSIGNED, GROUP_SIGNED, GROUP_FLOAT, GROUP_BOOL, GROUP_UTF16, GROUP_BYTES, GROUP_NONE };

/* Member of ptl_value that holds a type, and its bits. */
static const struct {
	uint8_t group;
	uint8_t bits;
} types[PTL_TYPE_STRUCT + 1] = {
	[0] = {GROUP_NONE, 0},
	[PTL_TYPE_U8] = {GROUP_UNSIGNED, 8},
	[PTL_TYPE_I8] = {GROUP_SIGNED, 8},
	[PTL_TYPE_U16] = {GROUP_UNSIGNED, 16},
	[PTL_TYPE_I16] = {GROUP_SIGNED, 16},
	[PTL_TYPE_U32] = {GROUP_UNSIGNED, 32},
	[PTL_TYPE_I32] = {GROUP_SIGNED, 32},
	[PTL_TYPE_U64] = {GROUP_UNSIGNED, 64},
	[PTL_TYPE_I64] = {GROUP_SIGNED, 64},
	[PTL_TYPE_F32] = {GROUP_FLOAT, 32},
	[PTL_TYPE_F64] = {GROUP_FLOAT, 64},
	[PTL_TYPE_BOOL8] = {GROUP_BOOL, 8},
	[PTL_TYPE_BOOL32] = {GROUP_BOOL, 32},
	[PTL_TYPE_POINTER] = {GROUP_UNSIGNED, 64},
	[PTL_TYPE_TIME] = {GROUP_UNSIGNED, 64},
	[PTL_TYPE_WALL_TIME] = {GROUP_SIGNED, 64},
	[PTL_TYPE_GUID] = {GROUP_BYTES, 0},
	[PTL_TYPE_UTF8] = {GROUP_BYTES, 0},
	[PTL_TYPE_UTF16] = {GROUP_UTF16, 0},
	[PTL_TYPE_UTF8_COUNTED] = {GROUP_BYTES, 0},
	[PTL_TYPE_UTF16_COUNTED] = {GROUP_UTF16, 0},
	[PTL_TYPE_BYTES_COUNTED] = {GROUP_BYTES, 0},
	[PTL_TYPE_BYTES] = {GROUP_BYTES, 0},
	[PTL_TYPE_STRUCT] = {GROUP_NONE, 0},
};

/* Converts UTF-16 to UTF-8. Stops at a zero unit, as for terminated text. */
static int from_utf16(const struct ptl_value *field, struct common_arena *scratch, struct query_value *value)
{
	struct ptl_bytes units = {0}, text = {0};
	struct common_cursor cursor;
	int status = 0;

	common_write_bytes(&units, field->bytes, field->size & ~(size_t)1);
	common_write_le(&units, 0, 2);
	if (!units.failed) {
		cursor = common_cursor(units.data, units.size);
		common_read_utf16(&cursor, &text);
	}
	if (units.failed || text.failed) {
		status = common_fail_memory("a text", field->size);
	} else {
		value->size = text.size ? text.size - 1 : 0;
		value->text = common_arena_copy(scratch, text.data, value->size);
		status = value->text ? 0 : PTL_NO_MEMORY;
	}
	common_bytes_free(&units);
	common_bytes_free(&text);
	return status;
}

int query_value_of_field(const struct ptl_value *field, struct common_arena *scratch, struct query_value *value)
{
	*value = (struct query_value){0};
	switch (types[field->field->type].group) {
	case GROUP_UNSIGNED:
		value->kind = QUERY_VALUE_NUMBER;
		value->number = field->u;
		return 0;
	case GROUP_SIGNED:
		value->kind = QUERY_VALUE_NUMBER;
		value->number = field->i;
		return 0;
	case GROUP_FLOAT:
		value->kind = QUERY_VALUE_REAL;
		value->real = field->f;
		return 0;
	case GROUP_BOOL:
		value->kind = QUERY_VALUE_BOOL;
		value->truth = field->u != 0;
		return 0;
	case GROUP_UTF16:
		value->kind = QUERY_VALUE_TEXT;
		return from_utf16(field, scratch, value);
	case GROUP_BYTES:
		value->kind = QUERY_VALUE_TEXT;
		value->text = (const char *)field->bytes;
		value->size = field->size;
		return 0;
	default:
		return 0;
	}
}

/* ---- to fields --------------------------------------------------------------------------- */

static const char *const ranges[2][4] = {
	{"a number of 0 to 255", "a number of 0 to 65535", "a number of 0 to 4294967295", "a number of 0 to 2^64 - 1"},
	{"a number of -128 to 127", "a number of -32768 to 32767", "a number of -2147483648 to 2147483647",
	 "a number of -2^63 to 2^63 - 1"},
};

static const char *to_integer(const struct query_value *value, unsigned bits, bool is_signed, struct ptl_value *field)
{
	query_number one = 1, first = is_signed ? -(one << (bits - 1)) : 0;
	query_number last = is_signed ? (one << (bits - 1)) - 1 : (one << bits) - 1;

	if (value->kind != QUERY_VALUE_NUMBER || value->number < first || value->number > last)
		return ranges[is_signed][bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3];
	field->u = (uint64_t)value->number;
	return NULL;
}

static const char *to_bytes(const struct query_value *value, struct ptl_value *field)
{
	uint8_t type = field->field->type;

	if (value->kind != QUERY_VALUE_TEXT)
		return "a text";
	if (type == PTL_TYPE_GUID && value->size != 16)
		return "the 16 bytes of a GUID, as guid(\"...\") gives";
	if (type == PTL_TYPE_UTF8 && value->size && memchr(value->text, 0, value->size))
		return "a text without a zero byte";
	if (type == PTL_TYPE_BYTES && field->field->length && field->field->length != value->size)
		return "a text of exactly as many bytes as the field has";
	if ((type == PTL_TYPE_UTF8_COUNTED || type == PTL_TYPE_BYTES_COUNTED) && value->size > UINT16_MAX)
		return "a text of at most 65535 bytes";
	field->bytes = (const uint8_t *)value->text;
	field->size = value->size;
	return NULL;
}

static const char *to_utf16(const struct query_value *value, struct common_arena *scratch, struct ptl_value *field,
			    int *status)
{
	struct ptl_bytes units = {0};
	char *text;

	if (value->kind != QUERY_VALUE_TEXT || (value->size && memchr(value->text, 0, value->size)))
		return "a text without a zero byte";
	text = common_arena_copy(scratch, value->text, value->size);
	if (text)
		common_write_utf16(&units, text);
	if (!text || units.failed) {
		*status = common_fail_memory("a text", value->size);
	} else {
		field->size = units.size - 2;
		field->bytes = (const uint8_t *)common_arena_copy(scratch, units.data, field->size);
		if (!field->bytes)
			*status = PTL_NO_MEMORY;
	}
	common_bytes_free(&units);
	if (!*status && field->field->type == PTL_TYPE_UTF16_COUNTED && field->size / 2 > UINT16_MAX)
		return "a text of at most 65535 units";
	return NULL;
}

const char *query_value_to_field(const struct query_value *value, struct common_arena *scratch, struct ptl_value *field,
				 int *status)
{
	unsigned bits = types[field->field->type].bits;

	*status = 0;
	switch (types[field->field->type].group) {
	case GROUP_UNSIGNED:
		return to_integer(value, bits, false, field);
	case GROUP_SIGNED:
		return to_integer(value, bits, true, field);
	case GROUP_FLOAT:
		if (value->kind != QUERY_VALUE_NUMBER && value->kind != QUERY_VALUE_REAL)
			return "a number";
		field->f = value->kind == QUERY_VALUE_REAL ? value->real : (double)value->number;
		return NULL;
	case GROUP_BOOL:
		if (value->kind != QUERY_VALUE_BOOL)
			return "true or false";
		field->u = value->truth;
		return NULL;
	case GROUP_UTF16:
		return to_utf16(value, scratch, field, status);
	case GROUP_BYTES:
		return to_bytes(value, field);
	default:
		return "a field that is no structure";
	}
}
