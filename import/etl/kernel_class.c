/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes schemas of the rows of the table of kernel classes. */
#include "import/etl/kernel_class.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/guid.h"
#include "import/etl/kernel_table.h"

#define WORD_MAX 64u

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
	{"4", ETL_IN_UINT32, ETL_OUT_IPV4},
	{"6", ETL_IN_GUID, ETL_OUT_IPV6},
	{"n", ETL_IN_UINT16, ETL_OUT_PORT},
	{"W", ETL_IN_PATH, 0},
	{"B", ETL_IN_IMAGE_ID, 0},
	{"N", ETL_IN_PDB, 0},
	{"P", ETL_IN_POINTER, 0},
	{"*", ETL_IN_REST, 0},
};

/* The name of the opcode in "1 Start,2 End"; false: it is not there. */
static bool find_opcode(const char *opcodes, uint8_t opcode, char name[WORD_MAX])
{
	while (*opcodes) {
		char *rest;
		const unsigned long number = strtoul(opcodes, &rest, 10);
		const size_t length = strcspn(rest, ",");

		if (number == opcode) {
			snprintf(name, WORD_MAX, "%.*s", (int)length - 1, rest + 1);
			return true;
		}
		opcodes = rest + length + (rest[length] == ',');
	}
	return false;
}

static bool set_type(struct etl_field *field, const char *type)
{
	const bool sized = (type[0] == 'w' || type[0] == 'b') && type[1];

	if (sized) {
		field->in = type[0] == 'w' ? ETL_IN_UTF16 : ETL_IN_BINARY;
		field->length_is = ETL_SIZE_FIXED;
		field->length = (uint32_t)strtoul(type + 1, NULL, 10);
		return true;
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].text, type) == 0) {
			field->in = types[i].in;
			field->out = types[i].out;
			field->count_is = type[0] == 'P' ? ETL_SIZE_REST : ETL_SIZE_OWN;
			return true;
		}
	return false;
}

/* The next word of "Name:type Name:type"; a lone "*" has no name. */
static int add_field(struct etl_schema *schema, const char **text)
{
	const size_t length = strcspn(*text, " ");
	const char *colon = memchr(*text, ':', length);
	struct etl_field *field = etl_schema_field(schema);
	char type[WORD_MAX];

	if (!field)
		return common_fail_memory("a class of the kernel", sizeof(*field));
	snprintf(type, sizeof(type), "%.*s", colon ? (int)(*text + length - colon - 1) : (int)length,
		 colon ? colon + 1 : *text);
	field->name = colon ? etl_schema_text(schema, *text, (size_t)(colon - *text)) : "Data";
	if (!field->name)
		return common_fail_memory("a class of the kernel", length);
	if (!set_type(field, type))
		return common_fail(PTL_MISUSE, "the kernel's table has a type '%s'", type);
	*text += length;
	*text += strspn(*text, " ");
	return 0;
}

static int make(const struct etl_kernel_class *class, const struct etl_kernel_row *row, const char *opcode,
		const struct ptl_descriptor *descriptor, struct etl_schema **made)
{
	struct etl_schema *schema = etl_schema_new();
	char name[3 * WORD_MAX];
	int status = schema ? 0 : common_fail_memory("a class of the kernel", sizeof(*schema));

	snprintf(name, sizeof(name), "%s/%s", class->name, opcode);
	for (const char *fields = row->fields; !status && *fields;)
		status = add_field(schema, &fields);
	if (!status)
		status = etl_schema_finish(schema);
	if (status) {
		etl_schema_free(schema);
		return status;
	}
	schema->ptl.provider = descriptor->provider;
	schema->ptl.version = descriptor->version;
	schema->ptl.opcode = descriptor->opcode;
	schema->ptl.provider_name = class->provider;
	schema->ptl.task_name = class->name;
	schema->ptl.event_name = etl_schema_text(schema, name, sizeof(name));
	schema->ptl.opcode_name = etl_schema_text(schema, opcode, WORD_MAX);
	*made = schema;
	if (schema->ptl.event_name && schema->ptl.opcode_name)
		return 0;
	etl_schema_free(schema);
	*made = NULL;
	return common_fail_memory("a class of the kernel", sizeof(name));
}

int etl_manifest_event_schema(const struct ptl_descriptor *descriptor, struct etl_schema **schema)
{
	static const struct etl_kernel_class class = {.name = "ManifestData", .provider = ""};
	static const struct etl_kernel_row row = {
		.fields = "Format:u1 MajorVersion:u1 MinorVersion:u1 Magic:u1 TotalChunks:u2 ChunkNumber:u2 *"};
	int status = make(&class, &row, "", descriptor, schema);

	if (!status) {
		(*schema)->ptl.id = descriptor->id;
		(*schema)->ptl.event_name = (*schema)->ptl.task_name;
	}
	return status;
}

int etl_kernel_schema(const struct ptl_descriptor *descriptor, struct etl_schema **schema)
{
	const struct etl_kernel_row *best = NULL;
	char name[WORD_MAX], best_name[WORD_MAX];
	size_t class = 0;

	*schema = NULL;
	while (class < etl_kernel_class_count &&
	       !common_guid_equal(&etl_kernel_classes[class].guid, &descriptor->provider))
		class ++;
	for (size_t i = 0; i < etl_kernel_row_count; i++) {
		const struct etl_kernel_row *row = &etl_kernel_rows[i];

		if (row->group != class || row->version > descriptor->version ||
		    (best && best->version > row->version) || !find_opcode(row->opcodes, descriptor->opcode, name))
			continue;
		best = row;
		memcpy(best_name, name, sizeof(name));
	}
	return best ? make(&etl_kernel_classes[class], best, best_name, descriptor, schema) : 0;
}
