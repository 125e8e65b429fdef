/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes rows as lines of TSV, CSV or JSON, or as ClickHouse's RowBinary. */
#include "dump/export/table/row_text.h"

#include <inttypes.h>
#include <string.h>

#include "common/error.h"
#include "common/text/digits.h"
#include "common/text/text.h"
#include "common/text/utf8.h"
#include "dump/export/table/row_postgresql.h"
#include "dump/export/table/row_schema.h"
#include "dump/print/event_time.h"
#include "dump/print/markup.h"

#define SECOND 1000000000
#define NANOSECOND_DIGITS 9
#define FRACTION (NANOSECOND_DIGITS + 1) /* includes the final Z */

/* Appends "2026-11-21 08:30:00.123456789", which every database with the time zone UTC reads. */
static void add_wall(struct dump_row_text *text, struct ptl_bytes *to, int64_t wall)
{
	const int64_t rest = (wall % SECOND + SECOND) % SECOND;
	struct ptl_bytes *second = &text->second;
	char digits[COMMON_DIGITS_MAX];

	/* Consecutive rows often share the same second. */
	if (!second->size || text->second_start != wall / SECOND || wall < SECOND) {
		second->size = 0;
		dump_text_system_time(second, wall);
		if (second->failed || second->size <= FRACTION)
			return;
		second->size -= FRACTION;
		second->data[second->size - sizeof("08:30:00.")] = ' ';
		text->second_start = wall / SECOND;
	}
	common_write_bytes(to, second->data, second->size);
	common_digits_before(digits + sizeof(digits), SECOND + (uint64_t)rest);
	common_write_bytes(to, digits + sizeof(digits) - NANOSECOND_DIGITS, NANOSECOND_DIGITS);
}

/* Appends a value that is not text. */
static void add_number(struct dump_row_text *text, enum dump_row_type type, uint64_t number)
{
	const bool negative = type == DUMP_ROW_SIGNED && (int64_t)number < 0;

	if (type == DUMP_ROW_WALL) {
		add_wall(text, &text->line, (int64_t)number);
		return;
	}
	if (negative)
		common_text_add(&text->line, "-");
	common_text_decimal(&text->line, negative ? -number : number);
}

static bool is_text(enum dump_row_type type)
{
	return type == DUMP_ROW_TEXT || type == DUMP_ROW_JSON;
}

/* ---- TSV ----------------------------------------------------------------------------------------- */

static const char *tsv_escape(char character)
{
	switch (character) {
	case '\t':
		return "\\t";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\\':
		return "\\\\";
	default:
		return NULL;
	}
}

/* Returns how many bytes at the beginning need no escape. */
static size_t plain_length(const char *words, size_t size)
{
	size_t length = 0;

	while (length < size && words[length] >= ' ' && words[length] != '\\')
		length++;
	return length;
}

/* Appends escaped text. Invalid UTF-8, and zeros, which databases refuse, become U+FFFD. */
static void add_tsv(struct ptl_bytes *line, const char *words, size_t size)
{
	for (;;) {
		const size_t plain = plain_length(words, size);
		uint32_t character;

		common_write_bytes(line, words, plain);
		words += plain;
		size -= plain;
		if (!size)
			return;

		const size_t read = common_utf8_read((const uint8_t *)words, size, &character), step = read ? read : 1;
		const char *escape = tsv_escape(*words);

		if (!read || !*words)
			common_text_add(line, "\xef\xbf\xbd");
		else if (escape)
			common_text_add(line, escape);
		else
			common_write_bytes(line, words, step);
		words += step;
		size -= step;
	}
}

static void tsv_value(struct dump_row_text *text, enum dump_row_type type, const struct dump_row_value *value)
{
	if (value->is_null)
		common_text_add(&text->line, "\\N");
	else if (is_text(type))
		add_tsv(&text->line, value->text, value->size);
	else
		add_number(text, type, value->number);
}

/* ---- CSV ----------------------------------------------------------------------------------------- */

static void csv_value(struct dump_row_text *text, enum dump_row_type type, const struct dump_row_value *value)
{
	if (value->is_null)
		return;
	/* Quotes distinguish an empty text from null. */
	if (is_text(type) && !value->size)
		common_text_add(&text->line, "\"\"");
	else if (is_text(type))
		dump_text_csv(&text->line, value->text, value->size);
	else
		add_number(text, type, value->number);
}

/* ---- RowBinary ----------------------------------------------------------------------------------- */

static void binary_value(struct ptl_bytes *line, const struct dump_row_column *column,
			 const struct dump_row_value *value)
{
	if (column->can_be_null)
		common_write_le(line, value->is_null, 1);
	if (value->is_null && column->can_be_null)
		return;
	if (is_text(column->type)) {
		common_write_varint(line, value->size);
		common_write_bytes(line, value->text, value->size);
	} else {
		common_write_le(line, value->number, column->type == DUMP_ROW_BOOLEAN ? 1 : 8);
	}
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_value(struct dump_row_text *text, const struct dump_row_column *column,
		       const struct dump_row_value *value)
{
	struct common_json *json = &text->run->json_out;

	if (value->is_null) {
		common_json_null(json, column->name);
		return;
	}
	switch (column->type) {
	case DUMP_ROW_TEXT:
		common_json_string_n(json, column->name, value->text, value->size);
		break;
	case DUMP_ROW_JSON:
		common_json_raw(json, column->name, value->text, value->size);
		break;
	case DUMP_ROW_SIGNED:
		common_json_i64(json, column->name, (int64_t)value->number);
		break;
	case DUMP_ROW_BOOLEAN:
		common_json_bool(json, column->name, value->number);
		break;
	case DUMP_ROW_WALL:
		text->scratch.size = 0;
		add_wall(text, &text->scratch, (int64_t)value->number);
		common_json_string_n(json, column->name, (const char *)text->scratch.data, text->scratch.size);
		break;
	default:
		common_json_u64(json, column->name, value->number);
		break;
	}
}

static void json_row(struct dump_row_text *text, const struct dump_row_table *table,
		     const struct dump_row_value *values)
{
	struct common_json *json = &text->run->json_out;

	common_json_object(json, NULL);
	for (size_t i = 0; i < DUMP_ROW_IDENTITY + table->column_count; i++)
		if (!(dump_row_column(table, i)->left_out_of & DUMP_ROW_NOT_FLAT))
			json_value(text, dump_row_column(table, i), &values[i]);
	common_json_object_end(json);
	common_json_line(json);
}

/* ---- lines --------------------------------------------------------------------------------------- */

static bool is_binary(const struct dump_row_text *text)
{
	return text->format == DUMP_ROW_BINARY || text->format == DUMP_ROW_BINARY_NAMES;
}

static void separate(struct dump_row_text *text, size_t i)
{
	if (i && !is_binary(text))
		common_text_add(&text->line, text->format == DUMP_ROW_CSV ? "," : "\t");
}

static void flush_line(struct dump_row_text *text)
{
	common_text_write(&text->line, text->run->out);
	text->line.size = 0;
}

static void end_line(struct dump_row_text *text)
{
	if (!is_binary(text))
		common_text_add(&text->line, text->format == DUMP_ROW_CSV ? "\r\n" : "\n");
	flush_line(text);
}

static void add_column_name(struct dump_row_text *text, const struct dump_row_column *column)
{
	if (is_binary(text))
		common_write_varint(&text->line, strlen(column->name));
	common_text_add(&text->line, column->name);
}

/* Appends the types of the columns, which follow the column names. */
static void add_types(struct dump_row_text *text, const struct dump_row_table *table)
{
	for (size_t i = 0; i < DUMP_ROW_IDENTITY + table->column_count; i++) {
		if (dump_row_column(table, i)->left_out_of & DUMP_ROW_NOT_FLAT)
			continue;
		text->scratch.size = 0;
		dump_row_schema_type(&text->scratch, DUMP_ROW_CLICKHOUSE, dump_row_column(table, i));
		common_write_varint(&text->line, text->scratch.size);
		common_write_bytes(&text->line, text->scratch.data, text->scratch.size);
	}
}

static size_t count_columns(const struct dump_row_table *table)
{
	size_t count = 0;

	for (size_t i = 0; i < DUMP_ROW_IDENTITY + table->column_count; i++)
		count += !(dump_row_column(table, i)->left_out_of & DUMP_ROW_NOT_FLAT);
	return count;
}

void dump_row_text_head(struct dump_row_text *text, const struct dump_row_table *table)
{
	if (text->format == DUMP_ROW_JSON_LINES || text->format == DUMP_ROW_BINARY)
		return;
	if (text->format == DUMP_ROW_SCRIPT) {
		dump_row_postgresql_head(&text->line);
		flush_line(text);
		return;
	}
	if (text->format == DUMP_ROW_BINARY_NAMES)
		common_write_varint(&text->line, count_columns(table));
	for (size_t i = 0; i < DUMP_ROW_IDENTITY + table->column_count; i++) {
		if (dump_row_column(table, i)->left_out_of & DUMP_ROW_NOT_FLAT)
			continue;
		separate(text, i);
		add_column_name(text, dump_row_column(table, i));
	}
	if (text->format == DUMP_ROW_BINARY_NAMES)
		add_types(text, table);
	end_line(text);
}

void dump_row_text_begin(struct dump_row_text *text, const struct dump_row_table *table, const struct dump_run *run)
{
	if (text->format == DUMP_ROW_SCRIPT)
		dump_row_postgresql_begin(&text->line, table, run);
	flush_line(text);
	text->identity.size = 0;
}

int dump_row_text_end(struct dump_row_text *text)
{
	if (text->format == DUMP_ROW_SCRIPT)
		dump_row_postgresql_end(&text->line);
	flush_line(text);
	return text->line.failed ? common_fail_memory("a row", 0) : 0;
}

static void add_value(struct dump_row_text *text, const struct dump_row_column *column,
		      const struct dump_row_value *value)
{
	if (is_binary(text))
		binary_value(&text->line, column, value);
	else if (text->format == DUMP_ROW_CSV)
		csv_value(text, column->type, value);
	else
		tsv_value(text, column->type, value);
}

static void add_values(struct dump_row_text *text, const struct dump_row_table *table,
		       const struct dump_row_value *values, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		const struct dump_row_column *column = dump_row_column(table, i);

		if (column->left_out_of & DUMP_ROW_NOT_FLAT)
			continue;
		separate(text, i);
		add_value(text, column, &values[i]);
	}
}

int dump_row_text_write(struct dump_row_sink *sink, const struct dump_row_table *table,
			const struct dump_row_value *values)
{
	struct dump_row_text *text = (struct dump_row_text *)sink;

	if (text->format == DUMP_ROW_JSON_LINES) {
		json_row(text, table, values);
	} else {
		/* The identity without the row number is equal in all rows of a trace. */
		if (text->identity.size) {
			common_write_bytes(&text->line, text->identity.data, text->identity.size);
		} else {
			add_values(text, table, values, 0, DUMP_ROW_IDENTITY - 1);
			common_write_bytes(&text->identity, text->line.data, text->line.size);
		}
		add_values(text, table, values, DUMP_ROW_IDENTITY - 1, DUMP_ROW_IDENTITY + table->column_count);
		end_line(text);
	}
	return text->line.failed || text->scratch.failed || text->identity.failed || text->second.failed
		       ? common_fail_memory("a row", text->line.size)
		       : 0;
}

void dump_row_text_free(struct dump_row_text *text)
{
	common_bytes_free(&text->line);
	common_bytes_free(&text->identity);
	common_bytes_free(&text->second);
	common_bytes_free(&text->scratch);
}
