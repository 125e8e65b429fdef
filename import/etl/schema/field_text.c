/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the field lists of tables. */
#include "import/etl/schema/field_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define WORD_MAX 96u

static const struct {
	char text[3];
	uint16_t in, out;
} types[] = {
	{"u1", ETL_IN_UINT8, 0},
	{"u2", ETL_IN_UINT16, 0},
	{"u4", ETL_IN_UINT32, 0},
	{"u8", ETL_IN_UINT64, 0},
	{"i1", ETL_IN_INT8, 0},
	{"i2", ETL_IN_INT16, 0},
	{"i4", ETL_IN_INT32, 0},
	{"i8", ETL_IN_INT64, 0},
	{"x2", ETL_IN_UINT16, ETL_OUT_HEX16},
	{"x4", ETL_IN_HEX32, 0},
	{"x8", ETL_IN_HEX64, 0},
	{"p", ETL_IN_POINTER, 0},
	{"z", ETL_IN_SIZE, 0},
	{"w", ETL_IN_UTF16, 0},
	{"a", ETL_IN_ANSI, 0},
	{"s", ETL_IN_WBEM_SID, 0},
	{"t", ETL_IN_TICKS, 0},
	{"f", ETL_IN_FILETIME, 0},
	{"g", ETL_IN_GUID, 0},
	{"d", ETL_IN_DOUBLE, 0},
	{"l", ETL_IN_BOOLEAN, 0},
	{"b", ETL_IN_BINARY, 0},
	{"4", ETL_IN_UINT32, ETL_OUT_IPV4},
	{"6", ETL_IN_GUID, ETL_OUT_IPV6},
	{"n", ETL_IN_UINT16, ETL_OUT_PORT},
	{"W", ETL_IN_PATH, 0},
	{"o", ETL_IN_OPTIONAL_UTF16, 0},
	{"B", ETL_IN_IMAGE_ID, 0},
	{"N", ETL_IN_PDB, 0},
	{"F", ETL_IN_FILE_NAME, 0},
	{"P", ETL_IN_POINTER, 0},
	{"*", ETL_IN_REST, 0},
};

static int find_field(const struct etl_schema *schema, const char *name, uint32_t *index)
{
	for (size_t i = schema->field_count - 1; i-- > 0;)
		if (strcmp(schema->fields[i].name, name) == 0) {
			*index = (uint32_t)i;
			return 0;
		}
	return common_fail(PTL_MISUSE, "a table of events counts by '%s', which is no earlier field", name);
}

static int set_type(struct etl_field *field, const char *type)
{
	const bool sized = (type[0] == 'w' || type[0] == 'b') && type[1];

	if (!*type) {
		field->in = ETL_IN_STRUCT;
		return 0;
	}
	if (sized) {
		field->in = type[0] == 'w' ? ETL_IN_UTF16 : ETL_IN_BINARY;
		field->length_is = ETL_SIZE_FIXED;
		field->length = (uint32_t)strtoul(type + 1, NULL, 10);
		return 0;
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].text, type) == 0) {
			field->in = types[i].in;
			field->out = types[i].out;
			field->count_is = type[0] == 'P' ? ETL_SIZE_REST : ETL_SIZE_OWN;
			return 0;
		}
	return common_fail(PTL_MISUSE, "a table of events has a type '%s'", type);
}

static int set_count(const struct etl_schema *schema, struct etl_field *field, const char *name)
{
	const bool bytes = field->in == ETL_IN_BINARY;

	if (bytes)
		field->length_is = ETL_SIZE_FIELD;
	else
		field->count_is = ETL_SIZE_FIELD;
	return find_field(schema, name, bytes ? &field->length : &field->count);
}

static int add_field(struct etl_schema *schema, char *word)
{
	struct etl_field *field = etl_schema_field(schema);
	char *colon = strchr(word, ':'), *count = strchr(word, '[');
	int status;

	if (!field)
		return common_fail_memory("a field of an event", sizeof(*field));
	field->name = colon ? etl_schema_text(schema, word, (size_t)(colon - word)) : "Data";
	if (!field->name) {
		field->name = "";
		return common_fail_memory("the name of a field", strlen(word));
	}
	if (count)
		*count = 0;
	status = set_type(field, colon ? colon + 1 : word);
	return status || !count ? status : set_count(schema, field, count + 1);
}

/* Ends the innermost open structure. */
static int end_structure(struct etl_schema *schema)
{
	for (size_t i = schema->field_count; i-- > 0;) {
		struct etl_field *field = &schema->fields[i];

		if (field->in == ETL_IN_STRUCT && !field->members) {
			field->members = (uint32_t)(schema->field_count - i - 1);
			return 0;
		}
	}
	return common_fail(PTL_MISUSE, "a table of events ends a structure that does not begin");
}

int etl_field_text(struct etl_schema *schema, const char *text)
{
	int status = 0;

	while (!status && *text) {
		const size_t length = strcspn(text, " ");
		char word[WORD_MAX];

		if (length >= sizeof(word))
			return common_fail(PTL_MISUSE, "a table of events has a word of %zu bytes", length);
		snprintf(word, sizeof(word), "%.*s", (int)length, text);
		status = strcmp(word, "]") == 0 ? end_structure(schema) : add_field(schema, word);
		text += length;
		text += strspn(text, " ");
	}
	return status;
}
