/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats single values of payload fields. */
#include "analysis/event/value.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/guid.h"
#include "common/text/text.h"
#include "common/text/utf16.h"
#include "common/text/utf8.h"

/* Forms of display. */
enum look {
	LOOK_UNSIGNED,
	LOOK_SIGNED,
	LOOK_FLOAT,
	LOOK_BOOL,
	LOOK_HEX,
	LOOK_TIME,
	LOOK_WALL_TIME,
	LOOK_TEXT,
	LOOK_BYTES,
	LOOK_CHARACTER,
	LOOK_ERRNO,
	LOOK_PORT,
	LOOK_IP,
};

static bool is_integer(uint8_t type)
{
	return type >= PTL_TYPE_U8 && type <= PTL_TYPE_I64;
}

static bool is_signed(uint8_t type)
{
	return type == PTL_TYPE_I8 || type == PTL_TYPE_I16 || type == PTL_TYPE_I32 || type == PTL_TYPE_I64;
}

static enum look look_of_integer(const struct ptl_field *field)
{
	const enum look plain = is_signed(field->type) ? LOOK_SIGNED : LOOK_UNSIGNED;

	switch (field->format) {
	case PTL_FORMAT_HEX:
	case PTL_FORMAT_ADDRESS:
		return LOOK_HEX;
	case PTL_FORMAT_STRING:
		return field->type <= PTL_TYPE_I32 ? LOOK_CHARACTER : plain;
	case PTL_FORMAT_LATIN1:
		return field->type <= PTL_TYPE_I8 ? LOOK_CHARACTER : plain;
	case PTL_FORMAT_ERRNO:
		return LOOK_ERRNO;
	case PTL_FORMAT_PORT:
		return field->type == PTL_TYPE_U16 ? LOOK_PORT : plain;
	case PTL_FORMAT_IP:
		return field->type == PTL_TYPE_U32 ? LOOK_IP : plain;
	default:
		return plain;
	}
}

static enum look look_of_bytes(const struct ptl_value *value)
{
	switch (value->field->format) {
	case PTL_FORMAT_STRING:
	case PTL_FORMAT_JSON:
	case PTL_FORMAT_XML:
	case PTL_FORMAT_LATIN1:
		return LOOK_TEXT;
	case PTL_FORMAT_IP:
		return value->size == 4 || value->size == 16 ? LOOK_IP : LOOK_BYTES;
	default:
		return LOOK_BYTES;
	}
}

static enum look look_of(const struct ptl_value *value)
{
	const struct ptl_field *field = value->field;

	if (is_integer(field->type))
		return look_of_integer(field);
	switch (field->type) {
	case PTL_TYPE_F32:
	case PTL_TYPE_F64:
		return LOOK_FLOAT;
	case PTL_TYPE_BOOL8:
	case PTL_TYPE_BOOL32:
		return LOOK_BOOL;
	case PTL_TYPE_POINTER:
		return LOOK_HEX;
	case PTL_TYPE_TIME:
		return LOOK_TIME;
	case PTL_TYPE_WALL_TIME:
		return LOOK_WALL_TIME;
	case PTL_TYPE_BYTES:
	case PTL_TYPE_BYTES_COUNTED:
		return look_of_bytes(value);
	case PTL_TYPE_GUID:
		return field->format == PTL_FORMAT_IP ? LOOK_IP : LOOK_TEXT;
	default:
		return LOOK_TEXT;
	}
}

/* ---- strings ------------------------------------------------------------------------------------- */

static void add_guid(const struct ptl_value *value, struct ptl_bytes *text)
{
	char words[PTL_GUID_TEXT_SIZE];
	struct ptl_guid guid;

	if (value->size != sizeof(guid.bytes))
		return;
	memcpy(guid.bytes, value->bytes, sizeof(guid.bytes));
	common_guid_format(&guid, words);
	common_text_add(text, words);
}

static void add_latin1(struct ptl_bytes *text, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		common_utf8_write(text, bytes[i]);
}

bool analysis_value_string(struct ptl_bytes *text, const struct ptl_value *value)
{
	if (look_of(value) != LOOK_TEXT)
		return false;
	switch (value->field->type) {
	case PTL_TYPE_GUID:
		add_guid(value, text);
		break;
	case PTL_TYPE_UTF16:
	case PTL_TYPE_UTF16_COUNTED:
		common_read_utf16_units(value->bytes, value->size / 2, text);
		break;
	default:
		if (value->field->format == PTL_FORMAT_LATIN1)
			add_latin1(text, value->bytes, value->size);
		else if (value->size)
			common_write_bytes(text, value->bytes, value->size);
	}
	return true;
}

bool analysis_is_text_array(const struct ptl_field *field)
{
	const bool text = (field->format == PTL_FORMAT_STRING && field->type <= PTL_TYPE_I32) ||
			  (field->format == PTL_FORMAT_LATIN1 && field->type <= PTL_TYPE_I8);

	return field->array && text && is_integer(field->type) && !(field->map && *field->map);
}

void analysis_text_array_string(struct ptl_bytes *text, const struct ptl_field *field, const uint8_t *bytes,
				size_t size)
{
	const size_t unit = field->type <= PTL_TYPE_I8 ? 1 : field->type <= PTL_TYPE_I16 ? 2 : 4;

	/* Padding of a fixed-size array does not belong to the text. */
	while (field->array == PTL_ARRAY_FIXED && size >= unit && !common_load_le(bytes + size - unit, unit))
		size -= unit;
	if (unit == 1 && field->format == PTL_FORMAT_LATIN1) {
		add_latin1(text, bytes, size);
	} else if (unit == 1) {
		if (size)
			common_write_bytes(text, bytes, size);
	} else if (unit == 2) {
		common_read_utf16_units(bytes, size / 2, text);
	} else {
		for (size_t at = 0; at + 4 <= size; at += 4)
			common_utf8_write(text, common_load32(bytes + at));
	}
}

/* ---- parts shared by text and JSON --------------------------------------------------------------- */

static void add_ip(struct ptl_bytes *text, const struct ptl_value *value)
{
	char words[INET6_ADDRSTRLEN];

	if (inet_ntop(value->size == 16 ? AF_INET6 : AF_INET, value->bytes, words, sizeof(words)))
		common_text_add(text, words);
}

static unsigned port_of(const struct ptl_value *value)
{
	return (unsigned)value->bytes[0] << 8 | value->bytes[1];
}

/* Appends the shortest decimal number that converts back to the same value. */
static void add_float(struct ptl_bytes *text, const struct ptl_value *value)
{
	char words[40];

	for (int digits = 1; digits <= 17; digits++) {
		snprintf(words, sizeof(words), "%.*g", digits, value->f);
		if (value->field->type == PTL_TYPE_F32 ? strtof(words, NULL) == (float)value->f
						       : strtod(words, NULL) == value->f)
			break;
	}
	common_text_add(text, words);
}

static const char *errno_name(const struct ptl_value *value)
{
	return value->i > 0 && value->i < 4096 ? strerrorname_np((int)value->i) : NULL;
}

/* Returns the bits in the payload: a negative number has only the bits of its type. */
static uint64_t bits_of(const struct ptl_value *value)
{
	return common_load_le(value->bytes, value->size <= 8 ? value->size : 8);
}

/* Appends the value's name in the map. Returns false without a name. */
static bool add_map_name(struct ptl_bytes *text, const struct ptl_map *map, const struct ptl_value *value)
{
	const char *name;

	if (map->kind == PTL_MAP_FLAGS) {
		analysis_text_flags(text, map, bits_of(value));
		return true;
	}
	name = ptl_map_name(map, value->u);
	if (name && *name)
		common_text_add(text, name);
	return name && *name;
}

const struct ptl_map *analysis_values_map(struct analysis_values *values, const struct ptl_value *value)
{
	const uint8_t type = value->field->type;

	if (!is_integer(type) && type != PTL_TYPE_BOOL8 && type != PTL_TYPE_BOOL32)
		return NULL;
	return analysis_names_map(values->names, values->schema, value->field);
}

bool analysis_value_number(struct analysis_number *number, const struct analysis_values *values,
			   const struct ptl_value *value)
{
	*number = (struct analysis_number){.u = value->u};
	switch (look_of(value)) {
	case LOOK_FLOAT:
		number->is_float = true;
		number->f = value->f;
		return true;
	case LOOK_TIME:
		number->is_signed = true;
		number->u -= values->start_time;
		return true;
	case LOOK_PORT:
		number->u = port_of(value);
		return true;
	case LOOK_HEX:
		number->u = bits_of(value);
		return true;
	case LOOK_TEXT:
	case LOOK_BYTES:
	case LOOK_IP:
		return false;
	default:
		number->is_signed = is_signed(value->field->type) || value->field->type == PTL_TYPE_WALL_TIME;
		return true;
	}
}

/* ---- text ---------------------------------------------------------------------------------------- */

static void add_string(struct ptl_bytes *text, const struct analysis_values *values, const struct ptl_bytes *words,
		       bool quoted)
{
	if (quoted)
		common_text_quoted(text, words->data, words->size);
	else if (values->raw && words->size)
		common_write_bytes(text, words->data, words->size);
	else
		common_text_safe_n(text, words->data, words->size);
	text->failed |= words->failed;
}

static void add_wall_time(struct ptl_bytes *text, const struct ptl_value *value, bool quoted)
{
	common_text_add(text, quoted ? "\"" : "");
	common_text_wall_time(text, value->i);
	common_text_add(text, quoted ? "\"" : "");
}

static void add_bool(struct ptl_bytes *text, const struct ptl_value *value)
{
	common_text_add(text, value->u ? "true" : "false");
	if (value->u > 1)
		common_text_format(text, "(%" PRIu64 ")", value->u);
}

static void text_look(struct ptl_bytes *text, struct analysis_values *values, const struct ptl_value *value,
		      bool quoted)
{
	switch (look_of(value)) {
	case LOOK_SIGNED:
		common_text_format(text, "%" PRId64, value->i);
		break;
	case LOOK_UNSIGNED:
		common_text_decimal(text, value->u);
		break;
	case LOOK_FLOAT:
		add_float(text, value);
		break;
	case LOOK_BOOL:
		add_bool(text, value);
		break;
	case LOOK_HEX:
		common_text_add(text, "0x");
		common_text_hex(text, bits_of(value));
		break;
	case LOOK_TIME:
		common_text_milliseconds(text, value->u, values->start_time);
		common_text_add(text, "ms");
		break;
	case LOOK_WALL_TIME:
		add_wall_time(text, value, quoted);
		break;
	case LOOK_BYTES:
		if (value->size)
			common_text_hex_bytes(text, value->bytes, value->size);
		else
			common_text_add(text, "-");
		break;
	case LOOK_TEXT:
		values->scratch.size = 0;
		analysis_value_string(&values->scratch, value);
		add_string(text, values, &values->scratch, quoted);
		break;
	case LOOK_CHARACTER:
		values->scratch.size = 0;
		common_utf8_write(&values->scratch, (uint32_t)bits_of(value));
		add_string(text, values, &values->scratch, quoted);
		break;
	case LOOK_ERRNO:
		if (errno_name(value))
			common_text_add(text, errno_name(value));
		else
			common_text_format(text, "%" PRId64, value->i);
		break;
	case LOOK_PORT:
		common_text_decimal(text, port_of(value));
		break;
	case LOOK_IP:
		add_ip(text, value);
		break;
	}
}

void analysis_text_value(struct ptl_bytes *text, struct analysis_values *values, const struct ptl_value *value,
			 bool quoted)
{
	const struct ptl_map *map = analysis_values_map(values, value);

	if (map) {
		struct ptl_bytes name = {0};
		const bool known = add_map_name(&name, map, value);

		if (known)
			add_string(text, values, &name, quoted);
		common_bytes_free(&name);
		if (known)
			return;
	}
	text_look(text, values, value, quoted);
}

void analysis_text_plain_value(struct ptl_bytes *text, struct analysis_values *values, const struct ptl_value *value)
{
	const bool raw = values->raw;

	values->raw = true;
	text_look(text, values, value, false);
	values->raw = raw;
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_scratch(struct common_json *json, const char *key, const struct analysis_values *values)
{
	common_json_string_n(json, key, (const char *)values->scratch.data, values->scratch.size);
}

static void json_float(struct common_json *json, const char *key, double value)
{
	if (isfinite(value))
		common_json_double(json, key, value);
	else
		common_json_string(json, key, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

/* Adds a number and its name, which may be NULL. */
static void json_named(struct common_json *json, const char *key, const struct ptl_value *value, const char *name)
{
	common_json_object(json, key);
	if (is_signed(value->field->type))
		common_json_i64(json, "value", value->i);
	else
		common_json_u64(json, "value", value->u);
	common_json_string(json, "name", name);
	common_json_object_end(json);
}

static void json_look(struct common_json *json, const char *key, struct analysis_values *values,
		      const struct ptl_value *value)
{
	switch (look_of(value)) {
	case LOOK_SIGNED:
	case LOOK_WALL_TIME:
		common_json_i64(json, key, value->i);
		break;
	case LOOK_UNSIGNED:
		common_json_u64(json, key, value->u);
		break;
	case LOOK_FLOAT:
		json_float(json, key, value->f);
		break;
	case LOOK_BOOL:
		common_json_bool(json, key, value->u != 0);
		break;
	case LOOK_HEX:
		common_json_hex(json, key, bits_of(value));
		break;
	case LOOK_TIME:
		common_json_i64(json, key, (int64_t)(value->u - values->start_time));
		break;
	case LOOK_BYTES:
		common_text_hex_bytes(&values->scratch, value->bytes, value->size);
		json_scratch(json, key, values);
		break;
	case LOOK_TEXT:
		analysis_value_string(&values->scratch, value);
		json_scratch(json, key, values);
		break;
	case LOOK_CHARACTER:
		common_utf8_write(&values->scratch, (uint32_t)bits_of(value));
		json_scratch(json, key, values);
		break;
	case LOOK_ERRNO:
		json_named(json, key, value, errno_name(value));
		break;
	case LOOK_PORT:
		common_json_u64(json, key, port_of(value));
		break;
	case LOOK_IP:
		add_ip(&values->scratch, value);
		json_scratch(json, key, values);
		break;
	}
}

void analysis_json_value(struct common_json *json, const char *key, struct analysis_values *values,
			 const struct ptl_value *value)
{
	const struct ptl_map *map = analysis_values_map(values, value);

	values->scratch.size = 0;
	if (map) {
		const bool known = add_map_name(&values->scratch, map, value);

		json_named(json, key, value, known ? common_text_string(&values->scratch) : NULL);
		return;
	}
	json_look(json, key, values, value);
}
