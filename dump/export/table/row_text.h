/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows as text, and as ClickHouse's RowBinary. */
#ifndef DUMP_EXPORT_TABLE_ROW_TEXT_H
#define DUMP_EXPORT_TABLE_ROW_TEXT_H

#include "dump/export/table/row.h"

/*
 * tsv: tab-separated with \t, \n, \\ and \N for what is not known, as ClickHouse and COPY of PostgreSQL read it. csv: RFC 4180, what is not
 * known is empty. json: an object a line. rowbinary: as ClickHouse reads it; with names and types before it. script: for psql.
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
	struct dump_row_sink sink; /* first */
	struct dump_session *session;
	enum dump_row_format format;
	struct ptl_bytes line, scratch;
	struct ptl_bytes identity; /* of the trace's rows, as it stands in each; empty: not known yet */
	struct ptl_bytes second;   /* the second that was written last, up to its point */
	int64_t second_start;      /* of the epoch */
};

/* The names of the columns, where the format has such a line. */
void dump_row_text_head(struct dump_row_text *text, const struct dump_row_table *table);
/* What stands before and behind the rows of a session's trace, where the format has such. */
void dump_row_text_begin(struct dump_row_text *text, const struct dump_row_table *table,
			 const struct dump_session *session);
int dump_row_text_end(struct dump_row_text *text);
/* What sink.row is. */
int dump_row_text_write(struct dump_row_sink *sink, const struct dump_row_table *table,
			const struct dump_row_value *values);
void dump_row_text_free(struct dump_row_text *text);

#endif
