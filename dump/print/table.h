/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables for people: columns as wide as their widest cell, no lines between. */
#ifndef DUMP_PRINT_TABLE_H
#define DUMP_PRINT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "dump/session/command.h"

struct dump_column {
	const char *title;
	bool right; /* numbers */
};

enum dump_style { DUMP_STYLE_PLAIN, DUMP_STYLE_BOLD, DUMP_STYLE_DIM, DUMP_STYLE_RED };

/* Cells are gathered row by row and printed together. Set columns and column_count, zero the rest. */
struct dump_table {
	const struct dump_column *columns;
	size_t column_count;    /* at most DUMP_COLUMNS_MAX */
	struct ptl_bytes cells; /* for each cell a style byte, the text and a zero */
	struct ptl_bytes text;  /* scratch for dump_cell_* */
	size_t cell_count;
};

#define DUMP_COLUMNS_MAX 16

/* The next cell of the row. words are from a trace or not: they are made safe. */
void dump_cell(struct dump_table *table, enum dump_style style, const char *words);
void dump_cell_format(struct dump_table *table, enum dump_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* What one of the dump_text_* functions put into table->text becomes the cell; leaves that empty. */
void dump_cell_text(struct dump_table *table, enum dump_style style);
/* A moment as milliseconds since start, with three decimals; 0 is unknown. */
void dump_cell_time(struct dump_table *table, uint64_t time, uint64_t start, const char *unknown);

/*
 * Prints titles (not where there are no rows) and rows to the session's output, and frees the table.
 * PTL_NO_MEMORY.
 */
int dump_table_print(struct dump_table *table, const struct dump_session *session);

#endif
