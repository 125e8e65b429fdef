/* SPDX-License-Identifier: BSD-2-Clause */
/* The classes of the kernel's events: which GUID a group of hooks stands for. */
#ifndef IMPORT_ETL_FILE_CLASS_H
#define IMPORT_ETL_FILE_CLASS_H

#include "import/etl/file/record.h"

/*
 * Sets kind, hook and descriptor of an event of the kernel. One of a group that has no class known here is of the kernel
 * provider, with the hook as its id.
 */
void etl_class_of(struct etl_record *record, uint16_t version, uint16_t hook);

#endif
