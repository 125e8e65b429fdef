/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes rows as text or as ClickHouse's RowBinary. */
#ifndef DUMP_EXPORT_TABLE_ROW_TEXT_H
#define DUMP_EXPORT_TABLE_ROW_TEXT_H

#include "dump/export/table/row.h"

/*
 * TSV: tab-separated with \t, \n, \\, and \N for null, for ClickHouse and PostgreSQL's COPY. CSV: RFC 4180, null is
 * empty. JSON_LINES: one object per line. BINARY: ClickHouse's RowBinary; BINARY_NAMES: after names and types. SCRIPT:
 * for psql.
 */
enum dump_row_format {
	DUMP_ROW_TSV,
	DUMP_ROW_CSV,
	DUMP_ROW_JSON_LINES,
	DUMP_ROW_BINARY,
	DUMP_ROW_BINARY_NAMES,
	DUMP_ROW_SCRIPT,
};

struct dump_row_text {
	struct dump_row_sink sink; /* must come first */
	struct dump_run *run;
	enum dump_row_format format;
	struct ptl_bytes line, scratch;
	struct ptl_bytes identity; /* formatted identity of the trace, equal in all rows; empty: not formatted yet */
	struct ptl_bytes second;   /* the last formatted second, up to the decimal point */
	int64_t second_start;      /* seconds since 1970 */
};

/* Appends the column names, if the format has them. */
void dump_row_text_head(struct dump_row_text *text, const struct dump_row_table *table);
/* Write the text before and after the rows of the run's trace, if the format has such text. */
void dump_row_text_begin(struct dump_row_text *text, const struct dump_row_table *table, const struct dump_run *run);
int dump_row_text_end(struct dump_row_text *text);
/* For sink.row. */
int dump_row_text_write(struct dump_row_sink *sink, const struct dump_row_table *table,
			const struct dump_row_value *values);
void dump_row_text_free(struct dump_row_text *text);

#endif
