/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows into a database of SQLite. */
#ifndef DUMP_EXPORT_TABLE_SQLITE_H
#define DUMP_EXPORT_TABLE_SQLITE_H

#include "dump/export/table/row.h"

struct dump_sqlite;

/*
 * A database with these tables (NULL-ended), which are empty, at a path where nothing or an empty file is. Close in any case where it
 * was opened. PTL_UNSUPPORTED where PTL was built without SQLite; PTL_SYSTEM, PTL_NO_MEMORY.
 */
int dump_sqlite_open(struct dump_sqlite **database, const char *path, const struct dump_row_table *const *tables);
/* Rows go to the trace of this number. */
struct dump_row_sink *dump_sqlite_trace(struct dump_sqlite *database, uint64_t number);
/* Makes indexes and views, and closes it where it is complete; PTL_SYSTEM. */
int dump_sqlite_finish(struct dump_sqlite *database);
void dump_sqlite_close(struct dump_sqlite *database);

#endif
