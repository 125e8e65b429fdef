/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of the events of .NET's common language runtime. docs/etl.md names its sources. */
#ifndef IMPORT_ETL_SCHEMA_CLR_TABLE_H
#define IMPORT_ETL_SCHEMA_CLR_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/guid.h>

struct etl_clr_row {
	uint8_t provider; /* index in etl_clr_providers */
	uint8_t version;  /* and later ones, up to the next row of the same id */
	uint16_t id;
	const char *name;   /* "Task/Opcode" */
	const char *fields; /* import/etl/schema/field_text.h */
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
