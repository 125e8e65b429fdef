/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes schemas from the table of kernel classes. */
#include "import/etl/schema/kernel_class.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "import/etl/schema/field_text.h"
#include "import/etl/schema/kernel_table.h"

#define WORD_MAX 64u

/* Finds the name of an opcode in a list such as "1 Start,2 End". Returns false if the list lacks the opcode. */
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

static int make_kernel_schema(const struct etl_kernel_class *class, const struct etl_kernel_row *row,
			      const char *opcode, const struct ptl_descriptor *descriptor, struct etl_schema **made)
{
	struct etl_schema *schema = etl_schema_new();
	char name[3 * WORD_MAX];
	int status = schema ? 0 : common_fail_memory("a class of the kernel", sizeof(*schema));

	snprintf(name, sizeof(name), "%s/%s", class->name, opcode);
	if (!status)
		status = etl_field_text(schema, row->fields);
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
	int status = make_kernel_schema(&class, &row, "", descriptor, schema);

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
	return best ? make_kernel_schema(&etl_kernel_classes[class], best, best_name, descriptor, schema) : 0;
}
