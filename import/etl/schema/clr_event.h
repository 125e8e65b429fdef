/* SPDX-License-Identifier: BSD-2-Clause */
/* The fields of the events of .NET's common language runtime. */
#ifndef IMPORT_ETL_SCHEMA_CLR_EVENT_H
#define IMPORT_ETL_SCHEMA_CLR_EVENT_H

#include "import/etl/schema/schema.h"

/*
 * A new schema for an event of the runtime; *schema is NULL where there is none. What a version does not say is as in
 * the one before it. PTL_NO_MEMORY.
 */
int etl_clr_schema(const struct ptl_descriptor *descriptor, struct etl_schema **schema);

#endif
