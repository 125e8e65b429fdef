/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of events of .NET's common language runtime. docs/etl.md names the sources. */
#ifndef IMPORT_ETL_SCHEMA_CLR_TABLE_H
#define IMPORT_ETL_SCHEMA_CLR_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/guid.h>

struct etl_clr_row {
	uint8_t provider; /* index in etl_clr_providers */
	uint8_t version;  /* the row holds up to the version of the next row with the same id */
	uint16_t id;
	const char *name;   /* "Task/Opcode" */
	const char *fields; /* syntax: import/etl/schema/field_text.h */
};

struct etl_clr_provider {
	struct ptl_guid guid;
	const char *name;
};

extern const struct etl_clr_provider etl_clr_providers[];
extern const size_t etl_clr_provider_count;
extern const struct etl_clr_row etl_clr_rows[];
extern const size_t etl_clr_row_count;

#endif
