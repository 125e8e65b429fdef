/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes rows to an SQLite database. */
#ifndef DUMP_EXPORT_TABLE_SQLITE_H
#define DUMP_EXPORT_TABLE_SQLITE_H

#include "dump/export/table/row.h"

struct dump_sqlite;

/*
 * Creates a database with empty tables (NULL-terminated). The path must not exist, or be an empty file. Returns
 * PTL_UNSUPPORTED if PTL was built without SQLite, PTL_SYSTEM or PTL_NO_MEMORY. Call dump_sqlite_close if *database was
 * set.
 */
int dump_sqlite_open(struct dump_sqlite **database, const char *path, const struct dump_row_table *const *tables);
/* Returns the sink for the rows of the trace with this number. */
struct dump_row_sink *dump_sqlite_trace(struct dump_sqlite *database, uint64_t number);
/* Creates indexes and views, and closes the complete database. Returns 0 or PTL_SYSTEM. */
int dump_sqlite_finish(struct dump_sqlite *database);
void dump_sqlite_close(struct dump_sqlite *database);

#endif
