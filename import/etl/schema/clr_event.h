/* SPDX-License-Identifier: BSD-2-Clause */
/* Schemas of events of .NET's common language runtime. */
#ifndef IMPORT_ETL_SCHEMA_CLR_EVENT_H
#define IMPORT_ETL_SCHEMA_CLR_EVENT_H

#include "import/etl/schema/schema.h"

/*
 * Makes a new schema for an event of the runtime. *schema is NULL for an unknown event. A version without a row has the
 * fields of the previous version. Returns PTL_NO_MEMORY.
 */
int etl_clr_schema(const struct ptl_descriptor *descriptor, struct etl_schema **schema);

#endif
