/* SPDX-License-Identifier: BSD-2-Clause */
/* Classes of kernel events: the GUID of a group of hooks. */
#ifndef IMPORT_ETL_FILE_CLASS_H
#define IMPORT_ETL_FILE_CLASS_H

#include "import/etl/file/record.h"

/*
 * Sets kind, hook and descriptor of a kernel event. An event of an unknown group gets the kernel provider, and the hook
 * as id.
 */
void etl_class_of(struct etl_record *record, uint16_t version, uint16_t hook);

#endif
