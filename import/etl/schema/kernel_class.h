/* SPDX-License-Identifier: BSD-2-Clause */
/* Schemas of kernel classes, from Windows' MOF and its successors. */
#ifndef IMPORT_ETL_SCHEMA_KERNEL_CLASS_H
#define IMPORT_ETL_SCHEMA_KERNEL_CLASS_H

#include "import/etl/schema/schema.h"

/*
 * Makes a new schema for an event of a kernel class, or of a class that merging tools add. *schema is NULL for an
 * unknown event. A version without a row has the fields of the previous version. Returns PTL_NO_MEMORY.
 */
int etl_kernel_schema(const struct ptl_descriptor *descriptor, struct etl_schema **schema);

/* As etl_kernel_schema, for EventSource's events that carry a piece of a manifest. */
int etl_manifest_event_schema(const struct ptl_descriptor *descriptor, struct etl_schema **schema);

#endif
