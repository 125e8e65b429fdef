/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts about events that manifests have. */
#ifndef IMPORT_ETL_SCHEMA_MESSAGE_H
#define IMPORT_ETL_SCHEMA_MESSAGE_H

#include "import/etl/schema/schema.h"

/* A message with places as Windows writes them (%1, %n, %%), with places as the trace has them. NULL: no memory. */
const char *etl_message(struct etl_schema *schema, const char *text);
/* "Task/Opcode", or the task alone where the opcode has no name, or says nothing. NULL: no memory. */
const char *etl_event_name(struct etl_schema *schema);

#endif
