/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints tables. Widths count characters, not bytes, since paths may contain any UTF-8. */
#include "dump/print/table.h"

#include <stdarg.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"

#define NAME_WIDTH 64 /* maximum column width for names, in characters */
#define NAME_LEAST 20 /* to which columns of names shrink on a narrow terminal */
#define GAP 2         /* blanks between columns */

static void add_cell(struct dump_table *table, enum dump_style style, const char *words)
{
	common_write_le(&table->cells, style, 1);
	common_text_safe(&table->cells, words);
	common_write_le(&table->cells, 0, 1);
	table->cell_count++;
}

void dump_cell(struct dump_table *table, enum dump_style style, const char *words)
{
	add_cell(table, style, words);
}

void dump_cell_format(struct dump_table *table, enum dump_style style, const char *format, ...)
{
	char words[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(words, sizeof(words), format, arguments);
	va_end(arguments);
	add_cell(table, style, words);
}

void dump_cell_text(struct dump_table *table, enum dump_style style)
{
	add_cell(table, style, common_text_string(&table->text));
	table->text.size = 0;
}

void dump_cell_time(struct dump_table *table, uint64_t time, uint64_t start, const char *unknown)
{
	if (time)
		common_text_format(&table->text, "%.3f", (double)(int64_t)(time - start) / 1e6);
	else
		common_text_add(&table->text, unknown);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
}

static const char *start_of(const struct dump_run *run, enum dump_style style)
{
	switch (style) {
	case DUMP_STYLE_BOLD:
		return dump_bold(run);
	case DUMP_STYLE_DIM:
		return dump_dim(run);
	case DUMP_STYLE_RED:
		return dump_red(run);
	default:
		return "";
	}
}

struct layout {
	const struct dump_table *table;
	const struct dump_run *run;
	size_t widths[DUMP_COLUMNS_MAX];
	size_t longest[DUMP_COLUMNS_MAX]; /* widths of the longest cells */
	bool left_out[DUMP_COLUMNS_MAX];
	struct ptl_bytes row, cell;
};

/* Writes the row without trailing blanks. */
static void end_row(struct layout *layout)
{
	struct ptl_bytes *row = &layout->row;

	while (row->size && row->data[row->size - 1] == ' ')
		row->size--;
	common_text_add(row, "\n");
	common_text_write(row, layout->run->out);
	row->size = 0;
}

/* Returns the words of a cell that fits its column: of a path the end, else the beginning, with a mark of the cut. */
static const char *cut_words(struct layout *layout, size_t column, const char *words)
{
	const size_t most = layout->widths[column];
	const bool is_path = *words == '/';
	size_t size = strlen(words);

	if (!layout->run->width || layout->table->columns[column].right || common_text_width(words, size) <= most)
		return words;
	layout->cell.size = 0;
	while (size && common_text_width(words, size) >= most) {
		const char *next = words + 1;

		if (is_path) {
			for (; (*next & 0xc0) == 0x80; next++)
				;
			size -= (size_t)(next - words);
			words = next;
		} else {
			while ((words[--size] & 0xc0) == 0x80)
				;
		}
	}
	common_text_add(&layout->cell, is_path ? "<" : "");
	common_write_bytes(&layout->cell, words, size);
	common_text_add(&layout->cell, is_path ? "" : ">");
	return common_text_string(&layout->cell);
}

static void print_cell(struct layout *layout, size_t column, enum dump_style style, const char *given)
{
	const char *words = cut_words(layout, column, given);
	const bool right = layout->table->columns[column].right;
	const size_t width = common_text_width(words, strlen(words));
	const size_t blanks = width < layout->widths[column] ? layout->widths[column] - width : 0;
	struct ptl_bytes *row = &layout->row;

	if (layout->left_out[column]) {
		if (column + 1 == layout->table->column_count)
			end_row(layout);
		return;
	}
	common_text_pad(row, row->size, right ? blanks : 0);
	if (*words) {
		common_text_add(row, start_of(layout->run, style));
		common_text_add(row, words);
		common_text_add(row, style == DUMP_STYLE_PLAIN ? "" : dump_plain(layout->run));
	}
	common_text_pad(row, row->size, right ? 0 : blanks);
	if (column + 1 == layout->table->column_count)
		end_row(layout);
	else
		common_text_add(row, "  ");
}

/* Calls `act` for each cell, in order. */
static void each_cell(struct layout *layout, void (*act)(struct layout *layout, size_t column, const char *cell))
{
	const char *cell = (const char *)layout->table->cells.data;

	for (size_t i = 0; i < layout->table->cell_count; i++) {
		act(layout, i % layout->table->column_count, cell);
		cell += 1 + strlen(cell + 1) + 1;
	}
}

/*
 * Widens the column for a cell. A longer name shifts only the rest of its own row: C++ templates have hundreds of
 * characters.
 */
static void measure_cell(struct layout *layout, size_t column, const char *cell)
{
	size_t width = common_text_width(cell + 1, strlen(cell + 1));

	if (width > layout->longest[column])
		layout->longest[column] = width;
	if (width > NAME_WIDTH && !layout->table->columns[column].right)
		width = NAME_WIDTH;
	if (width > layout->widths[column])
		layout->widths[column] = width;
}

static void show_cell(struct layout *layout, size_t column, const char *cell)
{
	print_cell(layout, column, (enum dump_style) * cell, cell + 1);
}

/* ---- narrow terminals ---------------------------------------------------------------------------- */

static size_t total_width(const struct layout *layout)
{
	size_t width = 0;

	for (size_t i = 0; i < layout->table->column_count; i++)
		if (!layout->left_out[i])
			width += layout->widths[i] + (width ? GAP : 0);
	return width;
}

/* Narrows columns of names, the widest first, until the table fits or all are narrow. */
static void narrow_names(struct layout *layout)
{
	for (;;) {
		size_t widest = layout->table->column_count;

		for (size_t i = 0; i < layout->table->column_count; i++)
			if (!layout->table->columns[i].right && layout->widths[i] > NAME_LEAST &&
			    (widest == layout->table->column_count || layout->widths[i] > layout->widths[widest]))
				widest = i;
		if (widest == layout->table->column_count || total_width(layout) <= layout->run->width)
			return;
		layout->widths[widest]--;
	}
}

/* Leaves out columns from the right, until the table fits: first shares, then other numbers but the first. */
static void leave_out_numbers(struct layout *layout, bool shares, struct ptl_bytes *names)
{
	bool any = false;

	for (size_t i = layout->table->column_count; i > 1 && total_width(layout) > layout->run->width; i--) {
		const struct dump_column *column = &layout->table->columns[i - 1];

		if (!column->right || layout->left_out[i - 1] || (shares && strcmp(column->title, "%") != 0))
			continue;
		layout->left_out[i - 1] = true;
		if (!shares || !any)
			common_text_format(names, "%s%s", names->size ? ", " : "", column->title);
		any = true;
	}
}

/* Sets the widths of columns of names: the longest cell, but at most `most`. */
static void limit_names(struct layout *layout, size_t most)
{
	for (size_t i = 0; i < layout->table->column_count; i++)
		if (!layout->table->columns[i].right) {
			const size_t title = common_text_width(layout->table->columns[i].title,
							       strlen(layout->table->columns[i].title));
			const size_t longest = layout->longest[i] > title ? layout->longest[i] : title;

			layout->widths[i] = longest < most ? longest : most;
		}
}

/* Fits the table to the terminal, and says which columns are left out. */
static void fit_terminal(struct layout *layout)
{
	struct ptl_bytes names = {0};

	limit_names(layout, NAME_LEAST);
	leave_out_numbers(layout, true, &names);
	leave_out_numbers(layout, false, &names);
	limit_names(layout, SIZE_MAX);
	narrow_names(layout);
	if (names.size)
		common_message_note("the terminal has %zu columns, too few for: %s", layout->run->width,
				    common_text_string(&names));
	common_bytes_free(&names);
}

int dump_table_print(struct dump_table *table, const struct dump_run *run)
{
	struct layout layout = {.table = table, .run = run};
	bool failed = table->cells.failed || table->text.failed;

	if (!failed && table->cell_count) {
		for (size_t i = 0; i < table->column_count; i++)
			layout.widths[i] = common_text_width(table->columns[i].title, strlen(table->columns[i].title));
		each_cell(&layout, measure_cell);
		if (run->width)
			fit_terminal(&layout);
		for (size_t i = 0; i < table->column_count; i++)
			print_cell(&layout, i, DUMP_STYLE_DIM, table->columns[i].title);
		each_cell(&layout, show_cell);
		failed = layout.row.failed;
		common_bytes_free(&layout.row);
		common_bytes_free(&layout.cell);
	}
	common_bytes_free(&table->cells);
	common_bytes_free(&table->text);
	table->cell_count = 0;
	return failed ? common_fail_memory("table", 0) : 0;
}
