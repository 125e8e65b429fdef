/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of kernel classes. docs/etl.md names the sources. */
#ifndef IMPORT_ETL_SCHEMA_KERNEL_TABLE_H
#define IMPORT_ETL_SCHEMA_KERNEL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/guid.h>

struct etl_kernel_row {
	uint8_t group;       /* index of the class */
	uint8_t version;     /* the row holds up to the version of the next row with the same opcode */
	const char *opcodes; /* "1 Start,2 End" */
	const char *fields;  /* syntax: import/etl/schema/field_text.h */
};

struct etl_kernel_class {
	struct ptl_guid guid;
	const char *name;
	const char *provider;
};

extern const struct etl_kernel_class etl_kernel_classes[];
extern const size_t etl_kernel_class_count;
extern const struct etl_kernel_row etl_kernel_rows[];
extern const size_t etl_kernel_row_count;

#endif
