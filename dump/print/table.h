/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables for text output: each column is as wide as its widest cell. */
#ifndef DUMP_PRINT_TABLE_H
#define DUMP_PRINT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "dump/run/command.h"

struct dump_column {
	const char *title;
	bool right; /* right-aligned, for numbers */
};

enum dump_style { DUMP_STYLE_PLAIN, DUMP_STYLE_BOLD, DUMP_STYLE_DIM, DUMP_STYLE_RED };

/* Collects cells row by row, and prints them together. Set columns and column_count, zero the other members. */
struct dump_table {
	const struct dump_column *columns;
	size_t column_count;    /* at most DUMP_COLUMNS_MAX */
	struct ptl_bytes cells; /* for each cell: a style byte, the text, a zero */
	struct ptl_bytes text;  /* scratch for dump_cell_* */
	size_t cell_count;
};

#define DUMP_COLUMNS_MAX 16

/* Adds the next cell of the row. Makes words safe for a terminal. */
void dump_cell(struct dump_table *table, enum dump_style style, const char *words);
void dump_cell_format(struct dump_table *table, enum dump_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Adds the contents of table->text, filled by a dump_text_* function, as a cell, and empties table->text. */
void dump_cell_text(struct dump_table *table, enum dump_style style);
/* Adds a time in milliseconds since `start`, with three decimals; `unknown` for time 0. */
void dump_cell_time(struct dump_table *table, uint64_t time, uint64_t start, const char *unknown);

/*
 * Prints titles (only if rows exist) and rows to the run's output, and frees the table. Returns 0 or PTL_NO_MEMORY.
 */
int dump_table_print(struct dump_table *table, const struct dump_run *run);

#endif
