/* SPDX-License-Identifier: BSD-2-Clause */
/* Definitions of tables for databases that take rows from a stream. */
#ifndef DUMP_EXPORT_TABLE_ROW_SCHEMA_H
#define DUMP_EXPORT_TABLE_ROW_SCHEMA_H

#include "dump/export/table/row.h"

enum dump_row_dialect { DUMP_ROW_CLICKHOUSE, DUMP_ROW_POSTGRESQL };

/* The type of a column: "Nullable(UInt64)". */
void dump_row_schema_type(struct ptl_bytes *text, enum dump_row_dialect dialect, const struct dump_row_column *column);
/* Statements that make these tables (NULL-ended), and what loading them needs. */
void dump_row_schema(struct ptl_bytes *text, enum dump_row_dialect dialect, const struct dump_row_table *const *tables);

#endif
