/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts fields of ETW's types to fields of the trace's types. */
#include "import/etl/schema/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/utf16.h"
#include "common/vector.h"

struct etl_text {
	struct etl_text *next;
	char text[];
};

#define TEXT_MAX 4096u /* maximum bytes of a name or message */
#define FIELDS_AT_ONCE 16u

/* Type, format and size of the trace's field for each ETW type. size: bytes in the trace's payload; 0: variable. */
struct described {
	uint16_t in;
	uint8_t type, format, size;
	bool as_is; /* bytes are copied unchanged */
};

static const struct described types[] = {
	{ETL_IN_UTF16, PTL_TYPE_UTF16, 0, 0, true},
	{ETL_IN_ANSI, PTL_TYPE_UTF8, 0, 0, true},
	{ETL_IN_INT8, PTL_TYPE_I8, 0, 1, true},
	{ETL_IN_UINT8, PTL_TYPE_U8, 0, 1, true},
	{ETL_IN_INT16, PTL_TYPE_I16, 0, 2, true},
	{ETL_IN_UINT16, PTL_TYPE_U16, 0, 2, true},
	{ETL_IN_INT32, PTL_TYPE_I32, 0, 4, true},
	{ETL_IN_UINT32, PTL_TYPE_U32, 0, 4, true},
	{ETL_IN_INT64, PTL_TYPE_I64, 0, 8, true},
	{ETL_IN_UINT64, PTL_TYPE_U64, 0, 8, true},
	{ETL_IN_FLOAT, PTL_TYPE_F32, 0, 4, true},
	{ETL_IN_DOUBLE, PTL_TYPE_F64, 0, 8, true},
	{ETL_IN_BOOLEAN, PTL_TYPE_BOOL32, 0, 4, true},
	{ETL_IN_BINARY, PTL_TYPE_BYTES_COUNTED, 0, 0, false},
	{ETL_IN_GUID, PTL_TYPE_GUID, 0, 16, true},
	{ETL_IN_POINTER, PTL_TYPE_POINTER, 0, 8, false},
	{ETL_IN_FILETIME, PTL_TYPE_WALL_TIME, 0, 8, false},
	{ETL_IN_SYSTEMTIME, PTL_TYPE_WALL_TIME, 0, 8, false},
	{ETL_IN_SID, PTL_TYPE_UTF8, 0, 0, false},
	{ETL_IN_HEX32, PTL_TYPE_U32, PTL_FORMAT_HEX, 4, true},
	{ETL_IN_HEX64, PTL_TYPE_U64, PTL_FORMAT_HEX, 8, true},
	{ETL_IN_COUNTED_UTF16, PTL_TYPE_UTF16_COUNTED, 0, 0, false},
	{ETL_IN_COUNTED_ANSI, PTL_TYPE_UTF8_COUNTED, 0, 0, false},
	{ETL_IN_STRUCT, PTL_TYPE_STRUCT, 0, 0, false},
	{ETL_IN_COUNTED_BINARY, PTL_TYPE_BYTES_COUNTED, 0, 0, false},
	{ETL_IN_MOF_COUNTED_UTF16, PTL_TYPE_UTF16_COUNTED, 0, 0, false},
	{ETL_IN_MOF_COUNTED_ANSI, PTL_TYPE_UTF8_COUNTED, 0, 0, false},
	{ETL_IN_REVERSED_UTF16, PTL_TYPE_UTF16_COUNTED, 0, 0, false},
	{ETL_IN_REVERSED_ANSI, PTL_TYPE_UTF8_COUNTED, 0, 0, false},
	{ETL_IN_OPTIONAL_UTF16, PTL_TYPE_UTF16, 0, 0, false},
	{ETL_IN_REST_UTF16, PTL_TYPE_UTF16_COUNTED, 0, 0, false},
	{ETL_IN_REST_ANSI, PTL_TYPE_UTF8_COUNTED, 0, 0, false},
	{ETL_IN_CHAR16, PTL_TYPE_U16, PTL_FORMAT_STRING, 2, true},
	{ETL_IN_CHAR8, PTL_TYPE_U8, PTL_FORMAT_STRING, 1, true},
	{ETL_IN_SIZE, PTL_TYPE_U64, 0, 8, false},
	{ETL_IN_DUMP, PTL_TYPE_BYTES_COUNTED, 0, 0, false},
	{ETL_IN_WBEM_SID, PTL_TYPE_UTF8, 0, 0, false},
	{ETL_IN_TICKS, PTL_TYPE_TIME, 0, 8, false},
	{ETL_IN_REST, PTL_TYPE_BYTES, 0, 0, true},
	{ETL_IN_PATH, PTL_TYPE_UTF16, 0, 0, false},
	{ETL_IN_IMAGE_ID, PTL_TYPE_BYTES_COUNTED, PTL_FORMAT_HASH, 0, false},
	{ETL_IN_PDB, PTL_TYPE_UTF8, 0, 0, false},
	{ETL_IN_FILE_NAME, PTL_TYPE_UTF16, 0, 0, false},
	{ETL_IN_SOCKET, PTL_TYPE_UTF8, 0, 0, false},
	{ETL_IN_COUNTED_SOCKET, PTL_TYPE_UTF8, 0, 0, false},
};

static const struct {
	uint16_t out;
	uint8_t format;
} formats[] = {
	{ETL_OUT_HEX8, PTL_FORMAT_HEX},    {ETL_OUT_HEX16, PTL_FORMAT_HEX}, {ETL_OUT_HEX32, PTL_FORMAT_HEX},
	{ETL_OUT_HEX64, PTL_FORMAT_HEX},   {ETL_OUT_PORT, PTL_FORMAT_PORT}, {ETL_OUT_IPV4, PTL_FORMAT_IP},
	{ETL_OUT_IPV6, PTL_FORMAT_IP},     {ETL_OUT_XML, PTL_FORMAT_XML},   {ETL_OUT_NTSTATUS, PTL_FORMAT_HEX},
	{ETL_OUT_HRESULT, PTL_FORMAT_HEX}, {ETL_OUT_JSON, PTL_FORMAT_JSON},
};

struct etl_schema *etl_schema_new(void)
{
	struct etl_schema *schema = calloc(1, sizeof(*schema));

	if (schema) {
		schema->ptl.provider_name = schema->ptl.event_name = schema->ptl.task_name = "";
		schema->ptl.opcode_name = schema->ptl.message = "";
	}
	return schema;
}

void etl_schema_free(struct etl_schema *schema)
{
	if (!schema)
		return;
	while (schema->texts) {
		struct etl_text *next = schema->texts->next;

		free(schema->texts);
		schema->texts = next;
	}
	free((void *)schema->ptl.fields);
	free(schema->fields);
	free(schema);
}

const char *etl_schema_text(struct etl_schema *schema, const char *text, size_t size)
{
	const size_t length = strnlen(text, size < TEXT_MAX ? size : TEXT_MAX);
	struct etl_text *copy = malloc(sizeof(*copy) + length + 1);

	if (!copy)
		return NULL;
	memcpy(copy->text, text, length);
	copy->text[length] = 0;
	copy->next = schema->texts;
	schema->texts = copy;
	return copy->text;
}

const char *etl_schema_text16(struct etl_schema *schema, const uint8_t *text, size_t size)
{
	struct ptl_bytes utf8 = {0};
	size_t units = 0;
	const char *copy;

	while (units < size / 2 && units < TEXT_MAX && common_load16(text + 2 * units))
		units++;
	while (units && (common_load16(text + 2 * units - 2) == ' ' || common_load16(text + 2 * units - 2) == '\n'))
		units--;
	common_read_utf16_units(text, units, &utf8);
	copy = utf8.failed ? NULL : etl_schema_text(schema, utf8.data ? (const char *)utf8.data : "", utf8.size);
	common_bytes_free(&utf8);
	return copy;
}

struct etl_field *etl_schema_field(struct etl_schema *schema)
{
	if (schema->field_count == ETL_FIELDS_MAX)
		return NULL;
	if (!COMMON_VECTOR_GROW(schema->fields, schema->field_capacity, schema->field_count + 1))
		return NULL;
	schema->fields[schema->field_count] = (struct etl_field){.name = ""};
	return &schema->fields[schema->field_count++];
}

/* ---- conversion to the trace's types ----------------------------------------------------------------------- */

static const struct described *find_type(uint16_t in)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].in == in)
			return &types[i];
	return NULL;
}

static uint8_t format_of(const struct etl_field *field, uint8_t format)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (formats[i].out == field->out)
			return formats[i].format;
	return format;
}

static bool is_small(uint16_t in)
{
	return in == ETL_IN_INT8 || in == ETL_IN_UINT8;
}

/* Adjusts the type to the display type; the bytes stay. */
static uint8_t type_of(const struct etl_field *field, uint8_t type)
{
	if (field->out == ETL_OUT_BOOLEAN && is_small(field->in))
		return PTL_TYPE_BOOL8;
	if (field->out == ETL_OUT_BOOLEAN && (field->in == ETL_IN_INT32 || field->in == ETL_IN_UINT32))
		return PTL_TYPE_BOOL32;
	if (field->out == ETL_OUT_CODE_POINTER && type == PTL_TYPE_U64)
		return PTL_TYPE_POINTER;
	return type;
}

static int describe_field(const struct etl_field *field, struct ptl_field *out)
{
	const struct described *type = find_type(field->in);

	if (!type)
		return common_fail(PTL_UNSUPPORTED, "a field of type %u", field->in);
	*out = (struct ptl_field){.name = field->name, .map = field->map, .tags = field->tags};
	out->type = type_of(field, type->type);
	out->format = format_of(field, type->format);
	if (field->out == ETL_OUT_STRING && (is_small(field->in) || field->in == ETL_IN_UINT16))
		out->format = PTL_FORMAT_STRING;
	if (field->in == ETL_IN_STRUCT)
		out->length = field->members;
	/* Strings and bytes with a separate length become counted types. */
	if (field->length_is != ETL_SIZE_OWN && field->in == ETL_IN_UTF16)
		out->type = PTL_TYPE_UTF16_COUNTED;
	if (field->length_is != ETL_SIZE_OWN && field->in == ETL_IN_ANSI)
		out->type = PTL_TYPE_UTF8_COUNTED;
	if (field->length_is == ETL_SIZE_FIXED && field->in == ETL_IN_BINARY && field->length) {
		out->type = PTL_TYPE_BYTES;
		out->length = field->length;
	}
	if (field->count_is == ETL_SIZE_FIXED) {
		out->array = PTL_ARRAY_FIXED;
		out->array_length = field->count;
	} else if (field->count_is != ETL_SIZE_OWN) {
		out->array = PTL_ARRAY_COUNTED;
	}
	return 0;
}

/* Returns the bytes of a field that is copied unchanged and has a fixed size; 0: converted, or a string. */
static size_t fixed_size(const struct etl_field *field, bool wide)
{
	const struct described *type = find_type(field->in);
	size_t size = type->size;

	if (field->in == ETL_IN_BINARY && field->length_is == ETL_SIZE_FIXED)
		size = field->length;
	else if (!type->as_is && !(wide && (field->in == ETL_IN_POINTER || field->in == ETL_IN_SIZE)))
		return 0;
	if (field->count_is == ETL_SIZE_OWN)
		return size;
	return field->count_is == ETL_SIZE_FIXED && field->count <= PTL_PAYLOAD_MAX ? size * field->count : 0;
}

static void find_as_is(struct etl_schema *schema, bool wide)
{
	size_t fixed = 0, i = 0;
	uint8_t last = 0;

	for (; i < schema->field_count; i++) {
		const size_t size = fixed_size(&schema->fields[i], wide);

		if (!size)
			break;
		fixed += size;
	}
	if (i + 1 == schema->field_count &&
	    (schema->fields[i].in == ETL_IN_UTF16 || schema->fields[i].in == ETL_IN_ANSI) &&
	    schema->fields[i].count_is == ETL_SIZE_OWN && schema->fields[i].length_is == ETL_SIZE_OWN) {
		last = schema->ptl.fields[i].type;
		i++;
	} else if (i + 1 == schema->field_count && schema->fields[i].in == ETL_IN_REST) {
		i++;
	}
	schema->as_is[wide] = i == schema->field_count;
	if (schema->as_is[wide]) {
		schema->fixed = fixed;
		schema->last = last;
	}
}

/* Binary fields with the display type "socket" become sockets. */
static void find_sockets(struct etl_field *field)
{
	if (field->out == ETL_OUT_SOCKET && field->in == ETL_IN_BINARY)
		field->in = ETL_IN_SOCKET;
	else if (field->out == ETL_OUT_SOCKET && field->in == ETL_IN_COUNTED_BINARY)
		field->in = ETL_IN_COUNTED_SOCKET;
}

/* ---- fields of unknown size ---------------------------------------------------------------------------- */

/* Whether a size is unknown. A size in another field needs a preceding field with a single number. */
static bool is_size_unknown(const struct etl_schema *schema, uint8_t is, uint32_t value, size_t index)
{
	const struct etl_field *field = value < index ? &schema->fields[value] : NULL;
	const struct described *type = field ? find_type(field->in) : NULL;

	if (is == ETL_SIZE_FIELD)
		return !type || !type->size || type->size > 8 || field->count_is != ETL_SIZE_OWN;
	return is == ETL_SIZE_UNKNOWN;
}

static bool is_unsized(const struct etl_schema *schema, size_t index)
{
	const struct etl_field *field = &schema->fields[index];
	const bool is_binary = field->in == ETL_IN_BINARY || field->in == ETL_IN_SOCKET;

	if (is_binary && (field->length_is == ETL_SIZE_OWN || (field->length_is == ETL_SIZE_FIXED && !field->length)))
		return true;
	return is_size_unknown(schema, field->count_is, field->count, index) ||
	       is_size_unknown(schema, field->length_is, field->length, index);
}

/*
 * Replaces a top-level field and all following fields by a field for the rest of the payload. Returns false without
 * memory.
 */
static bool cut_at(struct etl_schema *schema, size_t index, size_t end)
{
	struct etl_field *field = &schema->fields[index];
	const bool is_last = end == schema->field_count && field->in != ETL_IN_STRUCT;
	char name[256];

	snprintf(name, sizeof(name), "%s%s", field->name, is_last ? "" : "...");
	*field = (struct etl_field){.name = etl_schema_text(schema, name, sizeof(name)), .in = ETL_IN_REST};
	schema->field_count = index + 1;
	schema->is_cut = !is_last;
	return field->name;
}

static bool cut_unsized(struct etl_schema *schema)
{
	for (size_t i = 0, end; i < schema->field_count; i = end) {
		const struct etl_field *field = &schema->fields[i];

		end = i + 1 + (field->in == ETL_IN_STRUCT ? field->members : 0);
		for (size_t k = i; k < end && k < schema->field_count; k++)
			if (is_unsized(schema, k))
				return cut_at(schema, i, end);
	}
	return true;
}

int etl_schema_finish(struct etl_schema *schema)
{
	struct ptl_field *fields = calloc(schema->field_count ? schema->field_count : 1, sizeof(*fields));
	int status = fields ? 0 : common_fail_memory("a schema", schema->field_count * sizeof(*fields));

	for (size_t i = 0; i < schema->field_count; i++)
		find_sockets(&schema->fields[i]);
	if (!status && !cut_unsized(schema))
		status = common_fail_memory("a schema", schema->field_count * sizeof(*fields));
	for (size_t i = 0; !status && i < schema->field_count; i++) {
		const struct etl_field *field = &schema->fields[i];

		status = describe_field(field, &fields[i]);
		schema->refers |= field->count_is == ETL_SIZE_FIELD || field->length_is == ETL_SIZE_FIELD ||
				  field->in == ETL_IN_FILE_NAME;
	}
	schema->ptl.fields = fields;
	schema->ptl.field_count = schema->field_count;
	if (status)
		return status;
	find_as_is(schema, false);
	find_as_is(schema, true);
	return 0;
}

size_t etl_schema_bytes(const struct etl_schema *schema)
{
	const struct ptl_schema *ptl = &schema->ptl;
	size_t bytes = 96 + strlen(ptl->provider_name) + strlen(ptl->event_name) + strlen(ptl->task_name) +
		       strlen(ptl->opcode_name) + strlen(ptl->message);

	for (size_t i = 0; i < ptl->field_count; i++)
		bytes += 32 + strlen(ptl->fields[i].name) + (ptl->fields[i].map ? strlen(ptl->fields[i].map) : 0);
	return bytes;
}
