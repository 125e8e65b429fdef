/* SPDX-License-Identifier: BSD-2-Clause */
/* Payload fields of events: one walk over the values, two ways to show them. */
#include "dump/print/payload.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/text.h"
#include "common/text/utf8.h"
#include "common/vector.h"

/* A structure in an array at each of the payload's 8 levels, and an array of values. */
#define NESTED_MAX 20

/* What is open around a value. */
struct nested {
	const struct ptl_field *field;
	uint32_t index; /* of the element */
	bool is_array;
	bool has_element; /* something has been shown within */
};

/* A walk over a payload; output is one of text and json. */
struct walk {
	struct dump_values *values;
	struct ptl_bytes *text;
	struct common_json *json;
	struct dump_places *places;
	struct nested nested[NESTED_MAX];
	unsigned depth;
	unsigned hidden;        /* as many steps of a field that is not shown are open */
	bool is_characters;     /* the array that is open is a text */
	struct ptl_bytes bytes; /* its elements */
	struct ptl_bytes key;
	struct ptl_bytes *raw; /* "path\0hex\0" for each value that JSON cannot hold */
};

/* ---- places ---------------------------------------------------------------------------------------- */

void dump_places_free(struct dump_places *places)
{
	free(places->places);
	*places = (struct dump_places){0};
}

static void add_place(struct walk *walk, const struct ptl_value *value)
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

/* "Outer[2].Inner" */
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

/* Whether what comes is an element of the array around it, and so has no name. */
static bool is_element(const struct walk *walk)
{
	return walk->depth && walk->nested[walk->depth - 1].is_array;
}

/* What goes before a value: a name, or a comma between elements. */
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
		add_place(walk, value);
}

/* The name; "name#2" for the second field that has it, since only one of them could be found by it. */
static const char *json_key(struct walk *walk, const struct ptl_value *value)
{
	const struct ptl_field *field = value->field;
	size_t before;

	if (is_element(walk))
		return NULL;
	before = dump_names_before(walk->values->names, walk->values->schema, field);
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

/* JSON cannot hold all strings, nor a boolean that is neither 0 nor 1: remembers the bytes of those. */
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
	else if (dump_value_string(&walk->bytes, value) && !is_utf8(&walk->bytes))
		keep_raw(walk, value, walk->bytes.data, walk->bytes.size);
}

static void show_value(struct walk *walk, const struct ptl_value *value)
{
	if (walk->is_characters) {
		common_write_bytes(&walk->bytes, value->bytes, value->size);
	} else if (walk->json) {
		dump_json_value(walk->json, json_key(walk, value), walk->values, value);
		keep_raw_value(walk, value);
	} else {
		text_before(walk, value);
		dump_text_value(walk->text, walk->values, value, true);
		end_place(walk);
	}
}

static void show_characters(struct walk *walk, const struct ptl_value *value)
{
	struct ptl_bytes string = {0};

	dump_text_array_string(&string, value->field, walk->bytes.data, walk->bytes.size);
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

/* ---- what is around them --------------------------------------------------------------------------- */

static void begin(struct walk *walk, const struct ptl_value *value, bool is_array)
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

static void end(struct walk *walk)
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

/* ETW's classes have them; people need not see them. */
static bool is_hidden(struct walk *walk, enum ptl_step step, const struct ptl_value *value)
{
	if (!walk->hidden && (walk->json || value->depth || strncmp(value->field->name, "Reserved", 8) != 0))
		return false;
	if (step == PTL_STEP_ARRAY || step == PTL_STEP_STRUCT)
		walk->hidden++;
	else if (step != PTL_STEP_VALUE)
		walk->hidden--;
	if (!walk->hidden && step != PTL_STEP_ARRAY && step != PTL_STEP_STRUCT)
		add_place(walk, value);
	return true;
}

static int visit(void *context, enum ptl_step step, const struct ptl_value *value)
{
	struct walk *walk = context;

	if (is_hidden(walk, step, value))
		return 0;
	switch (step) {
	case PTL_STEP_VALUE:
		show_value(walk, value);
		break;
	case PTL_STEP_ARRAY:
		walk->is_characters = dump_is_text_array(value->field);
		walk->bytes.size = 0;
		if (!walk->is_characters)
			begin(walk, value, true);
		break;
	case PTL_STEP_STRUCT:
		begin(walk, value, false);
		break;
	case PTL_STEP_ARRAY_END:
		if (walk->is_characters) {
			show_characters(walk, value);
			break;
		}
		end(walk);
		break;
	case PTL_STEP_STRUCT_END:
		end(walk);
		break;
	}
	return 0;
}

/* Shows what can be decoded; returns how many bytes at the end no field explains. */
static size_t walk_payload(struct walk *walk, const struct ptl_schema *schema, const uint8_t *payload, size_t size)
{
	int status = PTL_NOT_FOUND;
	size_t rest = size;

	walk->values->schema = schema;
	if (schema)
		status = ptl_payload_walk(schema, payload, size, visit, walk, &rest);
	while (walk->depth)
		end(walk);
	common_bytes_free(&walk->bytes);
	common_bytes_free(&walk->key);
	return status == 0 ? rest : size;
}

/* ---- the whole ------------------------------------------------------------------------------------- */

void dump_text_payload(struct ptl_bytes *text, struct dump_values *values, const struct ptl_schema *schema,
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

void dump_json_payload(struct common_json *json, struct dump_values *values, const struct ptl_schema *schema,
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
