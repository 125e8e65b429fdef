/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes schemas from the table of .NET runtime events. */
#include "import/etl/schema/clr_event.h"

#include <string.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "import/etl/schema/clr_map.h"
#include "import/etl/schema/clr_table.h"
#include "import/etl/schema/field_text.h"

static int fill_clr_schema(struct etl_schema *schema, const struct etl_clr_row *row,
			   const struct ptl_descriptor *descriptor)
{
	struct ptl_schema *ptl = &schema->ptl;
	const size_t task = strcspn(row->name, "/");
	int status = etl_field_text(schema, row->fields);

	for (size_t i = 0; !status && i < schema->field_count; i++)
		schema->fields[i].map = etl_clr_map_of(row->name, schema->fields[i].name);
	schema->from_table = true;
	if (!status)
		status = etl_schema_finish(schema);
	if (status)
		return status;
	ptl->provider = descriptor->provider;
	ptl->id = descriptor->id;
	ptl->version = descriptor->version;
	ptl->opcode = descriptor->opcode;
	ptl->task = descriptor->task;
	ptl->provider_name = etl_clr_providers[row->provider].name;
	ptl->event_name = row->name;
	ptl->opcode_name = row->name + task + 1;
	ptl->task_name = etl_schema_text(schema, row->name, task);
	return ptl->task_name ? 0 : common_fail_memory("the name of a task", task);
}

static const struct etl_clr_row *find_row(const struct ptl_descriptor *descriptor)
{
	const struct etl_clr_row *best = NULL;
	size_t provider = 0;

	while (provider < etl_clr_provider_count &&
	       !common_guid_equal(&etl_clr_providers[provider].guid, &descriptor->provider))
		provider++;
	for (size_t i = 0; i < etl_clr_row_count && provider < etl_clr_provider_count; i++) {
		const struct etl_clr_row *row = &etl_clr_rows[i];

		if (row->provider == provider && row->id == descriptor->id && row->version <= descriptor->version &&
		    (!best || best->version < row->version))
			best = row;
	}
	return best;
}

int etl_clr_schema(const struct ptl_descriptor *descriptor, struct etl_schema **made)
{
	const struct etl_clr_row *row = find_row(descriptor);
	struct etl_schema *schema = row ? etl_schema_new() : NULL;
	int status;

	*made = NULL;
	if (!row)
		return 0;
	if (!schema)
		return common_fail_memory("an event of the runtime", sizeof(*schema));
	status = fill_clr_schema(schema, row, descriptor);
	if (status)
		etl_schema_free(schema);
	else
		*made = schema;
	return status;
}
