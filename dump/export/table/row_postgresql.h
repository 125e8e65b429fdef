/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes rows as a script for psql. Each trace is a transaction that first removes old rows of the trace. */
#ifndef DUMP_EXPORT_TABLE_ROW_POSTGRESQL_H
#define DUMP_EXPORT_TABLE_ROW_POSTGRESQL_H

#include "dump/export/table/row.h"

/* Appends the head of the script. */
void dump_row_postgresql_head(struct ptl_bytes *text);
/* Append the text before and after the rows of the run's trace, which are TSV. */
void dump_row_postgresql_begin(struct ptl_bytes *text, const struct dump_row_table *table, const struct dump_run *run);
void dump_row_postgresql_end(struct ptl_bytes *text);

#endif
