/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of manifests about events. */
#ifndef IMPORT_ETL_SCHEMA_MESSAGE_H
#define IMPORT_ETL_SCHEMA_MESSAGE_H

#include "import/etl/schema/schema.h"

/* Converts a message with Windows' placeholders (%1, %n, %%) to placeholders of the trace. NULL: no memory. */
const char *etl_message(struct etl_schema *schema, const char *text);
/* Returns "Task/Opcode"; the task alone if the opcode has no name, or the name "Info". NULL: no memory. */
const char *etl_event_name(struct etl_schema *schema);

#endif
