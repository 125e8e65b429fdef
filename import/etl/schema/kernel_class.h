/* SPDX-License-Identifier: BSD-2-Clause */
/* The fields of the kernel's classes, as Windows' MOF and its successors have them. */
#ifndef IMPORT_ETL_SCHEMA_KERNEL_CLASS_H
#define IMPORT_ETL_SCHEMA_KERNEL_CLASS_H

#include "import/etl/schema/schema.h"

/*
 * A new schema for an event of one of the kernel's classes, or of those that merging tools add; *schema is NULL where
 * there is none. What a version does not say is as in the one before it. PTL_NO_MEMORY.
 */
int etl_kernel_schema(const struct ptl_descriptor *descriptor, struct etl_schema **schema);

/* The same for EventSource's events that carry a piece of a manifest. */
int etl_manifest_event_schema(const struct ptl_descriptor *descriptor, struct etl_schema **schema);

#endif
