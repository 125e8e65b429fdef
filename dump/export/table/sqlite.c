/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes an SQLite database by prepared statements in one transaction. Indexes are created at the end. */
#include "dump/export/table/sqlite.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "common/text/utf8.h"
#include "dump/export/export.h"

#ifdef DUMP_SQLITE

#include <sqlite3.h>

#define TABLES_MAX 16

struct dump_sqlite {
	struct dump_row_sink sink; /* must come first */
	sqlite3 *handle;
	const struct dump_row_table *const *tables;
	sqlite3_stmt *inserts[TABLES_MAX]; /* one statement per table */
	uint64_t trace;
	struct ptl_bytes text;
};

static int fail_sqlite(const struct dump_sqlite *database, const char *what)
{
	return common_fail(PTL_SYSTEM, "SQLite cannot %s: %s", what, sqlite3_errmsg(database->handle));
}

static int execute(struct dump_sqlite *database, const char *statement)
{
	return sqlite3_exec(database->handle, statement, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : fail_sqlite(database, statement);
}

/* Whether the table is "traces". All tables refer to rows of "traces". */
static bool is_traces(const struct dump_row_table *table)
{
	return table == &dump_row_traces;
}

static const char *type_of(enum dump_row_type type)
{
	return type == DUMP_ROW_TEXT || type == DUMP_ROW_JSON ? "TEXT" : "INTEGER";
}

static bool has_column(const struct dump_row_table *table, size_t i)
{
	return (i >= DUMP_ROW_IDENTITY || is_traces(table)) &&
	       !(dump_row_column(table, i)->left_out_of & DUMP_ROW_NOT_DATABASE);
}

static void add_columns(const struct dump_row_table *table, struct ptl_bytes *text)
{
	for (size_t i = 0; i < DUMP_ROW_IDENTITY + table->column_count; i++) {
		const struct dump_row_column *column = dump_row_column(table, i);

		if (!has_column(table, i))
			continue;
		/* Other tables use the name "trace" for the number. */
		common_text_add(text, i == 0 ? ",\n  guid" : ",\n  \"");
		if (i) {
			common_text_add(text, column->name);
			common_text_add(text, "\"");
		}
		common_text_add(text, " ");
		common_text_add(text, type_of(column->type));
		common_text_add(text, column->can_be_null ? "" : " NOT NULL");
	}
}

static int make_table(struct dump_sqlite *database, size_t number)
{
	const struct dump_row_table *table = database->tables[number];
	struct ptl_bytes text = {0};
	size_t count = 1;
	int status;

	common_text_format(&text, "CREATE TABLE %s (\n  trace INTEGER%s", table->name,
			   is_traces(table) ? " PRIMARY KEY" : " NOT NULL REFERENCES traces");
	add_columns(table, &text);
	common_text_add(&text, "\n)");
	status = text.failed ? common_fail_memory("a statement", text.size)
			     : execute(database, common_text_string(&text));
	for (size_t i = 0; i < DUMP_ROW_IDENTITY + table->column_count; i++)
		count += has_column(table, i);
	text.size = 0;
	common_text_format(&text, "INSERT INTO %s VALUES (?", table->name);
	for (size_t i = 1; i < count; i++)
		common_text_add(&text, ",?");
	common_text_add(&text, ")");
	if (!status && sqlite3_prepare_v3(database->handle, common_text_string(&text), -1, SQLITE_PREPARE_PERSISTENT,
					  &database->inserts[number], NULL) != SQLITE_OK)
		status = fail_sqlite(database, "prepare a statement");
	common_bytes_free(&text);
	return status;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static bool is_utf8(const char *text, size_t size)
{
	const uint8_t *at = (const uint8_t *)text;

	for (size_t i = 0, step; i < size; i += step) {
		uint32_t character;

		step = common_utf8_read(at + i, size - i, &character);
		if (!step || !character)
			return false;
	}
	return true;
}

/* Binds a text. Invalid UTF-8 becomes U+FFFD, since some readers of the database would refuse the text. */
static int bind_text(struct dump_sqlite *database, sqlite3_stmt *statement, int at, const struct dump_row_value *value)
{
	struct ptl_bytes *text = &database->text;
	uint32_t character;

	if (is_utf8(value->text, value->size))
		return sqlite3_bind_text64(statement, at, value->text, value->size, SQLITE_STATIC, SQLITE_UTF8);
	text->size = 0;
	for (size_t i = 0; i < value->size;) {
		const size_t step = common_utf8_read((const uint8_t *)value->text + i, value->size - i, &character);

		if (step && character)
			common_write_bytes(text, value->text + i, step);
		else
			common_text_add(text, "\xef\xbf\xbd");
		i += step ? step : 1;
	}
	if (text->failed)
		return SQLITE_NOMEM;
	return sqlite3_bind_text64(statement, at, (const char *)text->data, text->size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static int bind(struct dump_sqlite *database, sqlite3_stmt *statement, int at, enum dump_row_type type,
		const struct dump_row_value *value)
{
	if (value->is_null)
		return sqlite3_bind_null(statement, at);
	if (type == DUMP_ROW_TEXT || type == DUMP_ROW_JSON)
		return bind_text(database, statement, at, value);
	return sqlite3_bind_int64(
		statement, at,
		(sqlite3_int64)(type == DUMP_ROW_UNSIGNED ? dump_export_signed(value->number) : value->number));
}

static int write_row(struct dump_row_sink *sink, const struct dump_row_table *table,
		     const struct dump_row_value *values)
{
	struct dump_sqlite *database = (struct dump_sqlite *)sink;
	sqlite3_stmt *insert;
	size_t number = 0;
	int at = 1, error;

	while (database->tables[number] != table)
		number++;
	insert = database->inserts[number];
	error = sqlite3_bind_int64(insert, at++, (sqlite3_int64)database->trace);
	for (size_t i = 0; !error && i < DUMP_ROW_IDENTITY + table->column_count; i++)
		if (has_column(table, i))
			error = bind(database, insert, at++, dump_row_column(table, i)->type, &values[i]);
	if (!error)
		error = sqlite3_step(insert) == SQLITE_DONE ? 0 : SQLITE_ERROR;
	return error || sqlite3_reset(insert) != SQLITE_OK ? fail_sqlite(database, "take a row") : 0;
}

/* ---- the database -------------------------------------------------------------------------------- */

/* An unfinished database is removed or never had a name, so data need not reach the disk before the end. */
static const char settings[] = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; "
			       "PRAGMA encoding = 'UTF-8'; PRAGMA page_size = 8192; BEGIN";

int dump_sqlite_open(struct dump_sqlite **result, const char *path, const struct dump_row_table *const *tables)
{
	struct dump_sqlite *database = calloc(1, sizeof(*database));
	int status = 0;

	if (!database)
		return common_fail_memory("a database", sizeof(*database));
	*result = database;
	database->sink.row = write_row;
	database->tables = tables;
	if (sqlite3_open_v2(path, &database->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		return fail_sqlite(database, "open a database");
	status = execute(database, settings);
	for (size_t i = 0; !status && tables[i]; i++)
		status = i < TABLES_MAX ? make_table(database, i) : common_fail(PTL_UNSUPPORTED, "too many tables");
	return status;
}

struct dump_row_sink *dump_sqlite_trace(struct dump_sqlite *database, uint64_t number)
{
	database->trace = number;
	return &database->sink;
}

/*
 * Sums up numbers that are not negative. sum() would end the query with an error beyond 2^63, which times of a damaged
 * or hostile trace may reach. This sum then becomes a floating-point number; sums of both halves are exact.
 */
#define SUM(column) "sum(" column " >> 32) * 4294967296 + sum(" column " & 4294967295)"

/* Views with names instead of numbers, and times in milliseconds as in ptl-dump. */
static const char views[] = "CREATE VIEW call_list AS SELECT c.*, s.function, s.image, s.build_id, s.address, "
			    "t.started + c.time AS "
			    "wall_time "
			    "FROM calls c JOIN traces t USING (trace) LEFT JOIN symbols s USING (trace, symbol);"
			    "CREATE VIEW function_list AS SELECT s.trace, s.function, s.image, s.build_id, count(*) AS "
			    "calls, " SUM("c.self") " AS self_time, " SUM(
				    "c.self_instructions") " AS self_instructions, max(c.duration) AS slowest "
							   "FROM symbols s JOIN calls c USING (trace, symbol) GROUP BY "
							   "s.trace, s.symbol;"
							   "CREATE VIEW event_list AS SELECT trace, number, time / 1e6 "
							   "AS milliseconds, provider || '/' || event AS "
							   "event, "
							   "pid, tid, process, payload FROM events;"
							   "CREATE VIEW missing AS SELECT trace, 'gap' AS what, cause, "
							   "pid, tid, time, bytes FROM gaps UNION ALL "
							   "SELECT trace, 'loss: ' || kind, cause, pid, tid, "
							   "first_time, bytes FROM losses";

int dump_sqlite_finish(struct dump_sqlite *database)
{
	struct ptl_bytes text = {0};
	int status = 0;

	for (size_t i = 0; !status && database->tables[i]; i++) {
		const struct dump_row_table *table = database->tables[i];

		if (!*table->key)
			continue;
		text.size = 0;
		common_text_format(&text, "CREATE INDEX %s_key ON %s (trace, %s)", table->name, table->name,
				   table->key);
		status = execute(database, common_text_string(&text));
	}
	common_bytes_free(&text);
	if (!status)
		status = execute(database, views);
	return status ? status : execute(database, "COMMIT");
}

void dump_sqlite_close(struct dump_sqlite *database)
{
	if (!database)
		return;
	for (size_t i = 0; i < TABLES_MAX; i++)
		sqlite3_finalize(database->inserts[i]);
	sqlite3_close(database->handle);
	common_bytes_free(&database->text);
	free(database);
}

#else

int dump_sqlite_open(struct dump_sqlite **database, const char *path, const struct dump_row_table *const *tables)
{
	(void)path;
	(void)tables;
	*database = NULL;
	return common_fail(PTL_UNSUPPORTED,
			   "this ptl-dump was built without SQLite (libsqlite3-dev); 'ptl-dump table' writes "
			   "the same rows for sqlite3's .import");
}

struct dump_row_sink *dump_sqlite_trace(struct dump_sqlite *database, uint64_t number)
{
	(void)number;
	return (struct dump_row_sink *)database;
}

int dump_sqlite_finish(struct dump_sqlite *database)
{
	(void)database;
	return 0;
}

void dump_sqlite_close(struct dump_sqlite *database)
{
	(void)database;
}

#endif
