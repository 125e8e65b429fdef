/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes schemas of the kernel's classes. */
#include "relog/settings/kernel_schemas.h"

#include <ptl/kernel.h>

static bool is_known_schema(const struct ptl_relogger *relogger, const struct ptl_schema *schema)
{
	const struct ptl_descriptor descriptor = {
		.provider = schema->provider, .id = schema->id, .version = schema->version, .opcode = schema->opcode};

	for (size_t i = 0; i < ptl_relogger_input_count(relogger); i++)
		if (ptl_schema_find(ptl_relogger_input_trace(ptl_relogger_input_at(relogger, i)), &descriptor))
			return true;
	return false;
}

int relog_kernel_schemas_write(struct ptl_relogger *relogger)
{
	size_t count;
	const struct ptl_schema *const *schemas = ptl_kernel_schemas(&count);
	int status = 0;

	for (size_t i = 0; !status && i < count; i++)
		if (!is_known_schema(relogger, schemas[i]))
			status = ptl_relogger_schema(relogger, schemas[i]);
	return status;
}
