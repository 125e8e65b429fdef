/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats payload fields of events: one walk over the values, for text or JSON. */
#include "dump/print/payload.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/text.h"
#include "common/text/utf8.h"
#include "common/vector.h"

/* A structure in an array at each of the payload's 8 levels, plus an array of values. */
#define NESTED_MAX 20

/* An open structure or array. */
struct nested {
	const struct ptl_field *field;
	uint32_t index; /* of the element */
	bool is_array;
	bool has_element; /* has at least one displayed element */
};

/* A walk over a payload. Output goes to either `text` or `json`. */
struct walk {
	struct analysis_values *values;
	struct ptl_bytes *text;
	struct common_json *json;
	struct dump_places *places;
	struct nested nested[NESTED_MAX];
	unsigned depth;
	unsigned hidden;        /* number of open structures and arrays of a hidden field */
	bool is_characters;     /* the open array is an array of characters */
	struct ptl_bytes bytes; /* its characters so far */
	struct ptl_bytes key;
	struct ptl_bytes *raw; /* "path\0hex\0" for each value that JSON cannot represent */
};

/* ---- top-level fields ------------------------------------------------------------------------------ */

void dump_places_free(struct dump_places *places)
{
	free(places->places);
	*places = (struct dump_places){0};
}

static void add_value_place(struct walk *walk, const struct ptl_value *value)
{
	struct dump_places *places = walk->places;

	if (!places)
		return;
	if (!COMMON_VECTOR_GROW(places->places, places->capacity, places->count + 1)) {
		walk->text->failed = true;
		return;
	}
	places->places[places->count++] = (struct dump_place){.from = walk->text->size, .to = walk->text->size};
	if (value->field->array == PTL_ARRAY_NONE)
		places->places[places->count - 1].value = *value;
}

static void end_place(struct walk *walk)
{
	if (walk->places && walk->places->count && !walk->depth)
		walk->places->places[walk->places->count - 1].to = walk->text->size;
}

/* ---- names ----------------------------------------------------------------------------------------- */

/* Appends the path of a value: "Outer[2].Inner". */
static void add_path(struct ptl_bytes *path, const struct walk *walk, const struct ptl_value *value)
{
	for (unsigned i = 0; i < walk->depth; i++) {
		const struct nested *nested = &walk->nested[i];

		if (nested->is_array)
			continue;
		common_text_add(path, nested->field->name);
		if (nested->field->array)
			common_text_format(path, "[%" PRIu32 "]", nested->index);
		common_text_add(path, ".");
	}
	common_text_add(path, value->field->name);
	if (value->field->array && !walk->is_characters)
		common_text_format(path, "[%" PRIu32 "]", value->index);
}

/* Whether the next value is an array element, which has no name. */
static bool is_element(const struct walk *walk)
{
	return walk->depth && walk->nested[walk->depth - 1].is_array;
}

/* Appends a name and "=" or, between elements, a comma. */
static void text_before(struct walk *walk, const struct ptl_value *value)
{
	struct nested *around = walk->depth ? &walk->nested[walk->depth - 1] : NULL;

	if (is_element(walk)) {
		common_text_add(walk->text, around->has_element ? "," : "");
	} else {
		common_text_add(walk->text, !around || around->has_element ? " " : "");
		common_text_safe(walk->text, value->field->name);
		common_text_add(walk->text, "=");
	}
	if (around)
		around->has_element = true;
	else
		add_value_place(walk, value);
}

/*
 * Returns the JSON key of a field: its name, or "name#2" for the second field of the same name, since JSON keys must be
 * unique.
 */
static const char *json_key(struct walk *walk, const struct ptl_value *value)
{
	const struct ptl_field *field = value->field;
	size_t before;

	if (is_element(walk))
		return NULL;
	before = analysis_names_before(walk->values->names, walk->values->schema, field);
	if (!before)
		return field->name;
	walk->key.size = 0;
	common_text_add(&walk->key, field->name);
	common_text_format(&walk->key, "#%zu", before + 1);
	return common_text_string(&walk->key);
}

/* ---- values ---------------------------------------------------------------------------------------- */

static bool is_utf8(const struct ptl_bytes *text)
{
	uint32_t character;
	size_t length;

	for (size_t at = 0; at < text->size; at += length) {
		length = common_utf8_read(text->data + at, text->size - at, &character);
		if (!length)
			return false;
	}
	return true;
}

/*
 * Remembers the bytes of a value that JSON cannot represent: a string that is not UTF-8, or a boolean other than 0 and
 * 1.
 */
static void keep_raw(struct walk *walk, const struct ptl_value *value, const uint8_t *bytes, size_t size)
{
	add_path(walk->raw, walk, value);
	common_write_le(walk->raw, 0, 1);
	common_text_hex_bytes(walk->raw, bytes, size);
	common_write_le(walk->raw, 0, 1);
}

static bool is_odd_bool(const struct ptl_value *value)
{
	const uint8_t type = value->field->type;

	return (type == PTL_TYPE_BOOL8 || type == PTL_TYPE_BOOL32) && value->u > 1;
}

static void keep_raw_value(struct walk *walk, const struct ptl_value *value)
{
	walk->bytes.size = 0;
	if (is_odd_bool(value))
		keep_raw(walk, value, value->bytes, value->size);
	else if (analysis_value_string(&walk->bytes, value) && !is_utf8(&walk->bytes))
		keep_raw(walk, value, walk->bytes.data, walk->bytes.size);
}

static void show_value(struct walk *walk, const struct ptl_value *value)
{
	if (walk->is_characters) {
		common_write_bytes(&walk->bytes, value->bytes, value->size);
	} else if (walk->json) {
		analysis_json_value(walk->json, json_key(walk, value), walk->values, value);
		keep_raw_value(walk, value);
	} else {
		text_before(walk, value);
		analysis_text_value(walk->text, walk->values, value, true);
		end_place(walk);
	}
}

static void show_characters(struct walk *walk, const struct ptl_value *value)
{
	struct ptl_bytes string = {0};

	analysis_text_array_string(&string, value->field, walk->bytes.data, walk->bytes.size);
	if (walk->json) {
		common_json_string_n(walk->json, json_key(walk, value), (const char *)string.data, string.size);
		if (!is_utf8(&string))
			keep_raw(walk, value, string.data, string.size);
	} else {
		text_before(walk, value);
		common_text_quoted(walk->text, string.data, string.size);
		end_place(walk);
	}
	walk->is_characters = false;
	common_bytes_free(&string);
}

/* ---- structures and arrays ------------------------------------------------------------------------- */

static void begin_value(struct walk *walk, const struct ptl_value *value, bool is_array)
{
	if (!walk->json)
		text_before(walk, value);
	if (!walk->json)
		common_text_add(walk->text, is_array ? "[" : "{");
	else if (is_array)
		common_json_array(walk->json, json_key(walk, value));
	else
		common_json_object(walk->json, json_key(walk, value));
	walk->nested[walk->depth++] = (struct nested){
		.field = value->field, .index = value->index, .is_array = is_array};
}

static void end_value(struct walk *walk)
{
	const bool is_array = walk->nested[--walk->depth].is_array;

	if (!walk->json) {
		common_text_add(walk->text, is_array ? "]" : "}");
		end_place(walk);
	} else if (is_array) {
		common_json_array_end(walk->json);
	} else {
		common_json_object_end(walk->json);
	}
}

/* Whether to hide a Reserved field: ETW's classes have such fields, but readers of text do not need them. */
static bool is_hidden(struct walk *walk, enum ptl_step step, const struct ptl_value *value)
{
	if (!walk->hidden && (walk->json || value->depth || strncmp(value->field->name, "Reserved", 8) != 0))
		return false;
	if (step == PTL_STEP_ARRAY || step == PTL_STEP_STRUCT)
		walk->hidden++;
	else if (step != PTL_STEP_VALUE)
		walk->hidden--;
	if (!walk->hidden && step != PTL_STEP_ARRAY && step != PTL_STEP_STRUCT)
		add_value_place(walk, value);
	return true;
}

static int payload_visit(void *context, enum ptl_step step, const struct ptl_value *value)
{
	struct walk *walk = context;

	if (is_hidden(walk, step, value))
		return 0;
	switch (step) {
	case PTL_STEP_VALUE:
		show_value(walk, value);
		break;
	case PTL_STEP_ARRAY:
		walk->is_characters = analysis_is_text_array(value->field);
		walk->bytes.size = 0;
		if (!walk->is_characters)
			begin_value(walk, value, true);
		break;
	case PTL_STEP_STRUCT:
		begin_value(walk, value, false);
		break;
	case PTL_STEP_ARRAY_END:
		if (walk->is_characters) {
			show_characters(walk, value);
			break;
		}
		end_value(walk);
		break;
	case PTL_STEP_STRUCT_END:
		end_value(walk);
		break;
	}
	return 0;
}

/* Shows the decodable values. Returns how many bytes at the end belong to no field. */
static size_t walk_payload(struct walk *walk, const struct ptl_schema *schema, const uint8_t *payload, size_t size)
{
	int status = PTL_NOT_FOUND;
	size_t rest = size;

	walk->values->schema = schema;
	if (schema)
		status = ptl_payload_walk(schema, payload, size, payload_visit, walk, &rest);
	while (walk->depth)
		end_value(walk);
	common_bytes_free(&walk->bytes);
	common_bytes_free(&walk->key);
	return status == 0 ? rest : size;
}

/* ---- whole payloads -------------------------------------------------------------------------------- */

void dump_text_payload(struct ptl_bytes *text, struct analysis_values *values, const struct ptl_schema *schema,
		       const uint8_t *payload, size_t size, struct dump_places *places)
{
	struct walk walk = {.values = values, .text = text, .places = places};
	size_t rest;

	if (places)
		places->count = 0;
	rest = walk_payload(&walk, schema, payload, size);
	if (rest) {
		common_text_add(text, " payload=");
		common_text_hex_bytes(text, payload + size - rest, rest);
	}
}

static void json_raw(struct common_json *json, const struct ptl_bytes *raw)
{
	if (!raw->size || raw->failed)
		return;
	common_json_object(json, "raw");
	for (size_t at = 0; at < raw->size;) {
		const char *path = (const char *)raw->data + at, *hex = path + strlen(path) + 1;

		common_json_string(json, path, hex);
		at += strlen(path) + strlen(hex) + 2;
	}
	common_json_object_end(json);
}

void dump_json_payload(struct common_json *json, struct analysis_values *values, const struct ptl_schema *schema,
		       const uint8_t *payload, size_t size)
{
	struct ptl_bytes raw = {0}, hex = {0};
	struct walk walk = {.values = values, .json = json, .raw = &raw};
	size_t rest;

	common_json_object(json, "fields");
	rest = walk_payload(&walk, schema, payload, size);
	common_json_object_end(json);
	json_raw(json, &raw);
	common_bytes_free(&raw);
	if (!rest)
		return;
	common_text_hex_bytes(&hex, payload + size - rest, rest);
	common_json_string(json, "payload", common_text_string(&hex));
	common_bytes_free(&hex);
}
