/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes table definitions for databases that load streamed rows. */
#ifndef DUMP_EXPORT_TABLE_ROW_SCHEMA_H
#define DUMP_EXPORT_TABLE_ROW_SCHEMA_H

#include "dump/export/table/row.h"

enum dump_row_dialect { DUMP_ROW_CLICKHOUSE, DUMP_ROW_POSTGRESQL };

/* Appends the type of a column: "Nullable(UInt64)". */
void dump_row_schema_type(struct ptl_bytes *text, enum dump_row_dialect dialect, const struct dump_row_column *column);
/* Appends the statements that create the tables (NULL-terminated), and procedures for loading. */
void dump_row_schema(struct ptl_bytes *text, enum dump_row_dialect dialect, const struct dump_row_table *const *tables);

#endif
