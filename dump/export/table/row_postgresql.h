/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows as a script for psql: each trace in a transaction that removes what was there of it before. */
#ifndef DUMP_EXPORT_TABLE_ROW_POSTGRESQL_H
#define DUMP_EXPORT_TABLE_ROW_POSTGRESQL_H

#include "dump/export/table/row.h"

/* What stands before all traces. */
void dump_row_postgresql_head(struct ptl_bytes *text);
/* What stands before and behind the rows of the session's trace, which are TSV. */
void dump_row_postgresql_begin(struct ptl_bytes *text, const struct dump_row_table *table,
			       const struct dump_session *session);
void dump_row_postgresql_end(struct ptl_bytes *text);

#endif
