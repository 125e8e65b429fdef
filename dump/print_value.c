/* SPDX-License-Identifier: BSD-2-Clause */
/* Payload fields of events: one walk over the values, two ways to show them. */
#include "dump/print_value.h"

#include <inttypes.h>
#include <string.h>

#include "common/guid.h"
#include "dump/print_text.h"
#include "format/utf16.h"

#define DEPTH_MAX 8

/* How a value is shown. */
enum look { LOOK_UNSIGNED, LOOK_SIGNED, LOOK_FLOAT, LOOK_BOOL, LOOK_HEX, LOOK_TIME, LOOK_TEXT, LOOK_BYTES };

/* A walk over a payload; output is one of text and json. */
struct walk {
	struct ptl_bytes *text;
	struct ptl_json *json;
	uint64_t start_time;
	const struct ptl_field *array; /* whose elements are being shown; NULL */
	unsigned array_depth;
	const char *outer[DEPTH_MAX];  /* names of the structures around the value */
	uint32_t outer_index[DEPTH_MAX];
	bool outer_array[DEPTH_MAX];
	struct ptl_bytes name;
	struct ptl_bytes value;
};

static enum look look_of(const struct ptl_field *field)
{
	switch (field->type) {
	case PTL_TYPE_I8:
	case PTL_TYPE_I16:
	case PTL_TYPE_I32:
	case PTL_TYPE_I64:
	case PTL_TYPE_WALL_TIME:
		return field->format == PTL_FORMAT_HEX ? LOOK_HEX : LOOK_SIGNED;
	case PTL_TYPE_U8:
	case PTL_TYPE_U16:
	case PTL_TYPE_U32:
	case PTL_TYPE_U64:
		if (field->format == PTL_FORMAT_HEX || field->format == PTL_FORMAT_ADDRESS)
			return LOOK_HEX;
		return LOOK_UNSIGNED;
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
	case PTL_TYPE_BYTES:
	case PTL_TYPE_BYTES_COUNTED:
		return LOOK_BYTES;
	default:
		return LOOK_TEXT;
	}
}

/* ---- values -------------------------------------------------------------------------------------- */

static void add_guid(const struct ptl_value *value, struct ptl_bytes *text)
{
	char words[PTL_GUID_TEXT_SIZE];
	struct ptl_guid guid;

	if (value->size != sizeof(guid.bytes))
		return;
	memcpy(guid.bytes, value->bytes, sizeof(guid.bytes));
	ptl_guid_format(&guid, words);
	dump_text_add(text, words);
}

/* Counted strings have no zero unit at their end, which the reader of units wants. */
static void add_utf16(const struct ptl_value *value, struct ptl_bytes *text)
{
	struct ptl_bytes units = {0};
	struct ptl_cursor cursor;

	ptl_write_bytes(&units, value->bytes, value->size);
	ptl_write_le(&units, 0, 2);
	if (!units.failed) {
		cursor = ptl_cursor(units.data, units.size);
		ptl_read_utf16(&cursor, text);
		if (text->size && !text->data[text->size - 1])
			text->size--;
	}
	text->failed |= units.failed;
	ptl_bytes_free(&units);
}

/* Strings and what is shown like one. A zero byte within ends it for the reader's eyes. */
static void add_string(const struct ptl_value *value, struct ptl_bytes *text)
{
	switch (value->field->type) {
	case PTL_TYPE_GUID:
		add_guid(value, text);
		break;
	case PTL_TYPE_UTF16:
	case PTL_TYPE_UTF16_COUNTED:
		add_utf16(value, text);
		break;
	default:
		ptl_write_bytes(text, value->bytes, value->size);
	}
}

static void text_string(struct walk *walk, const struct ptl_value *value)
{
	const char *words;
	bool quoted;

	walk->value.size = 0;
	add_string(value, &walk->value);
	words = dump_text_string(&walk->value);
	quoted = !*words || strpbrk(words, " \t\"=,[]") != NULL;
	dump_text_add(walk->text, quoted ? "\"" : "");
	dump_text_safe(walk->text, words);
	dump_text_add(walk->text, quoted ? "\"" : "");
}

static void text_value(struct walk *walk, const struct ptl_value *value)
{
	switch (look_of(value->field)) {
	case LOOK_SIGNED:
		dump_text_format(walk->text, "%" PRId64, value->i);
		break;
	case LOOK_UNSIGNED:
		dump_text_decimal(walk->text, value->u);
		break;
	case LOOK_FLOAT:
		dump_text_format(walk->text, "%g", value->f);
		break;
	case LOOK_BOOL:
		dump_text_add(walk->text, value->u ? "true" : "false");
		break;
	case LOOK_HEX:
		dump_text_add(walk->text, "0x");
		dump_text_hex(walk->text, value->u);
		break;
	case LOOK_TIME:
		dump_text_format(walk->text, "%.6fms",
				 (double)(int64_t)(value->u - walk->start_time) / 1e6);
		break;
	case LOOK_BYTES:
		if (value->size)
			dump_text_hex_bytes(walk->text, value->bytes, value->size);
		else
			dump_text_add(walk->text, "-");
		break;
	case LOOK_TEXT:
		text_string(walk, value);
		break;
	}
}

static void json_value(struct walk *walk, const char *key, const struct ptl_value *value)
{
	walk->value.size = 0;
	switch (look_of(value->field)) {
	case LOOK_SIGNED:
		ptl_json_i64(walk->json, key, value->i);
		break;
	case LOOK_UNSIGNED:
		ptl_json_u64(walk->json, key, value->u);
		break;
	case LOOK_FLOAT:
		ptl_json_double(walk->json, key, value->f);
		break;
	case LOOK_BOOL:
		ptl_json_bool(walk->json, key, value->u != 0);
		break;
	case LOOK_HEX:
		ptl_json_hex(walk->json, key, value->u);
		break;
	case LOOK_TIME:
		ptl_json_i64(walk->json, key, (int64_t)(value->u - walk->start_time));
		break;
	case LOOK_BYTES:
		dump_text_hex_bytes(&walk->value, value->bytes, value->size);
		ptl_json_string(walk->json, key, dump_text_string(&walk->value));
		break;
	case LOOK_TEXT:
		add_string(value, &walk->value);
		ptl_json_string_n(walk->json, key, (const char *)walk->value.data, walk->value.size);
		break;
	}
}

/* ---- fields -------------------------------------------------------------------------------------- */

/* "Outer[2].Inner" */
static const char *full_name(struct walk *walk, const struct ptl_value *value)
{
	walk->name.size = 0;
	for (unsigned i = 0; i < value->depth && i < DEPTH_MAX; i++) {
		if (!walk->outer[i])
			continue;
		dump_text_add(&walk->name, walk->outer[i]);
		if (walk->outer_array[i])
			dump_text_format(&walk->name, "[%" PRIu32 "]", walk->outer_index[i]);
		dump_text_add(&walk->name, ".");
	}
	dump_text_add(&walk->name, value->field->name);
	return dump_text_string(&walk->name);
}

static void end_array(struct walk *walk)
{
	if (!walk->array)
		return;
	walk->array = NULL;
	if (walk->json)
		ptl_json_array_end(walk->json);
	else
		dump_text_add(walk->text, "]");
}

static void start_field(struct walk *walk, const struct ptl_value *value, bool is_array)
{
	const char *name = full_name(walk, value);

	if (walk->json) {
		if (is_array)
			ptl_json_array(walk->json, name);
		return;
	}
	dump_text_add(walk->text, " ");
	dump_text_safe(walk->text, name);
	dump_text_add(walk->text, is_array ? "=[" : "=");
}

static int visit(void *context, const struct ptl_value *value)
{
	struct walk *walk = context;
	const bool is_array = value->field->array != PTL_ARRAY_NONE;
	const bool goes_on = is_array && walk->array == value->field &&
			     walk->array_depth == value->depth && value->index > 0;

	if (!goes_on)
		end_array(walk);
	if (value->field->type == PTL_TYPE_STRUCT) {
		if (value->depth < DEPTH_MAX) {
			walk->outer[value->depth] = value->field->name;
			walk->outer_index[value->depth] = value->index;
			walk->outer_array[value->depth] = is_array;
		}
		return 0;
	}
	/* ETW's classes have them; people need not see them. */
	if (!walk->json && !value->depth && strncmp(value->field->name, "Reserved", 8) == 0)
		return 0;
	if (!goes_on)
		start_field(walk, value, is_array);
	else if (!walk->json)
		dump_text_add(walk->text, ",");
	if (walk->json)
		json_value(walk, is_array ? NULL : full_name(walk, value), value);
	else
		text_value(walk, value);
	if (is_array) {
		walk->array = value->field;
		walk->array_depth = value->depth;
	}
	return 0;
}

/* Shows what can be decoded; returns how many bytes at the end no field explains. */
static size_t walk_payload(struct walk *walk, const struct ptl_schema *schema,
			   const uint8_t *payload, size_t size)
{
	size_t rest = size;
	int status = PTL_NOT_FOUND;

	if (schema)
		status = ptl_payload_decode(schema, payload, size, visit, walk, &rest);
	end_array(walk);
	ptl_bytes_free(&walk->name);
	ptl_bytes_free(&walk->value);
	return status == 0 ? rest : size;
}

void dump_text_payload(struct ptl_bytes *text, const struct ptl_schema *schema,
		       const uint8_t *payload, size_t size, uint64_t start_time)
{
	struct walk walk = {.text = text, .start_time = start_time};
	const size_t rest = walk_payload(&walk, schema, payload, size);

	if (rest) {
		dump_text_add(text, " payload=");
		dump_text_hex_bytes(text, payload + size - rest, rest);
	}
}

void dump_json_payload(struct ptl_json *json, const struct ptl_schema *schema,
		       const uint8_t *payload, size_t size, uint64_t start_time)
{
	struct walk walk = {.json = json, .start_time = start_time};
	struct ptl_bytes hex = {0};
	size_t rest;

	ptl_json_object(json, "fields");
	rest = walk_payload(&walk, schema, payload, size);
	ptl_json_object_end(json);
	if (!rest)
		return;
	dump_text_hex_bytes(&hex, payload + size - rest, rest);
	ptl_json_string(json, "payload", dump_text_string(&hex));
	ptl_bytes_free(&hex);
}
