/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes SQL statements that create the tables: partitioned by day, with keys that allow loading a trace again. */
#include "dump/export/table/row_schema.h"

#include <string.h>

#include "common/text/text.h"

/*
 * SQL types. ClickHouse stores times of day as 64-bit nanoseconds: old versions have no time type finer than a second.
 * PostgreSQL has no unsigned numbers; numeric takes no more space than bigint for small numbers, which are frequent.
 */
static const char *const types[][2] = {
	[DUMP_ROW_TEXT] = {"String", "text"},      [DUMP_ROW_UNSIGNED] = {"UInt64", "numeric(20)"},
	[DUMP_ROW_SIGNED] = {"Int64", "bigint"},   [DUMP_ROW_ADDRESS] = {"UInt64", "numeric(20)"},
	[DUMP_ROW_BOOLEAN] = {"UInt8", "boolean"}, [DUMP_ROW_WALL] = {"Int64", "timestamp"},
	[DUMP_ROW_JSON] = {"String", "json"},
};

void dump_row_schema_type(struct ptl_bytes *text, enum dump_row_dialect dialect, const struct dump_row_column *column)
{
	const bool wrapped = dialect == DUMP_ROW_CLICKHOUSE && column->can_be_null;

	common_text_add(text, wrapped ? "Nullable(" : "");
	common_text_add(text, types[column->type][dialect]);
	common_text_add(text, wrapped                                                  ? ")"
			      : dialect == DUMP_ROW_POSTGRESQL && !column->can_be_null ? " NOT NULL"
										       : "");
}

static void add_columns(struct ptl_bytes *text, enum dump_row_dialect dialect, const struct dump_row_table *table)
{
	for (size_t i = 0; i < DUMP_ROW_IDENTITY + table->column_count; i++) {
		const struct dump_row_column *column = dump_row_column(table, i);

		if (column->left_out_of & DUMP_ROW_NOT_FLAT)
			continue;
		common_text_format(text, "%s  \"%s\" ", i ? ",\n" : "", column->name);
		dump_row_schema_type(text, dialect, column);
	}
}

static const char *key_of(const struct dump_row_table *table)
{
	return table->flat_key ? table->flat_key : table->key;
}

static bool has_word(const char *words, const char *word)
{
	const size_t size = strlen(word);

	for (const char *at = strstr(words, word); at; at = strstr(at + 1, word))
		if ((at == words || at[-1] == ' ') && (!at[size] || at[size] == ','))
			return true;
	return false;
}

/* ---- ClickHouse ---------------------------------------------------------------------------------- */

/* Appends the sort key. Nullable columns cannot be in the sort key. */
static void add_sorting(struct ptl_bytes *text, const struct dump_row_table *table)
{
	for (size_t i = 0; i < table->column_count; i++)
		if (!table->columns[i].can_be_null && has_word(key_of(table), table->columns[i].name))
			common_text_format(text, "\"%s\", ", table->columns[i].name);
	common_text_add(text, "\"trace\", \"row_number\"");
}

/*
 * Appends a table for ClickHouse. A row that is loaded again replaces the row with the same key, which includes trace
 * and row number.
 */
static void add_clickhouse(struct ptl_bytes *text, const struct dump_row_table *table)
{
	common_text_format(text, "CREATE TABLE IF NOT EXISTS \"%s\" (\n", table->name);
	add_columns(text, DUMP_ROW_CLICKHOUSE, table);
	common_text_add(text, ",\n  \"day\" Date MATERIALIZED toDate(toUInt16(intDiv(ifNull(\"started\", 0), "
			      "86400000000000)))\n) ENGINE = ReplacingMergeTree PARTITION BY \"day\" ORDER BY (");
	add_sorting(text, table);
	common_text_add(text, ");\n");
}

/* ---- PostgreSQL ---------------------------------------------------------------------------------- */

static const char procedures[] =
	"-- A partition for a day, which has to be there before the first row of that day.\n"
	"CREATE OR REPLACE PROCEDURE ptl_day(name text, day date) LANGUAGE plpgsql AS $$\n"
	"DECLARE part text := name || to_char(day, '_YYYYMMDD');\n"
	"BEGIN\n"
	"  IF to_regclass(quote_ident(part)) IS NULL THEN\n"
	"    PERFORM pg_advisory_xact_lock(hashtextextended('ptl_day', 0));\n"
	"    EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)',\n"
	"                   part, name, day, day + 1);\n"
	"  END IF;\n"
	"END $$;\n"
	"-- Removes the rows of a trace, in the transaction that brings new ones; others that load it wait for the end "
	"of that.\n"
	"CREATE OR REPLACE PROCEDURE ptl_replace(name text, whose text) LANGUAGE plpgsql AS $$\n"
	"BEGIN\n"
	"  PERFORM pg_advisory_xact_lock(hashtextextended(name || whose, 0));\n"
	"  EXECUTE format('DELETE FROM %I WHERE trace = $1', name) USING whose;\n"
	"END $$;\n";

/* Appends an index. A hash index accepts text of any length, a B-tree does not. */
static void add_index(struct ptl_bytes *text, const struct dump_row_table *table, const struct dump_row_column *column)
{
	common_text_format(text, "CREATE INDEX IF NOT EXISTS \"%s_%s\" ON \"%s\" USING %s (\"%s\");\n", table->name,
			   column->name, table->name, column->type == DUMP_ROW_TEXT ? "hash" : "btree", column->name);
}

static void add_postgresql(struct ptl_bytes *text, const struct dump_row_table *table)
{
	common_text_format(text, "CREATE TABLE IF NOT EXISTS \"%s\" (\n", table->name);
	add_columns(text, DUMP_ROW_POSTGRESQL, table);
	common_text_add(text, "\n) PARTITION BY RANGE (\"started\");\n");
	common_text_format(text, "CREATE TABLE IF NOT EXISTS \"%s_undated\" PARTITION OF \"%s\" DEFAULT;\n",
			   table->name, table->name);
	common_text_format(text, "CREATE INDEX IF NOT EXISTS \"%s_trace\" ON \"%s\" (\"trace\");\n", table->name,
			   table->name);
	for (size_t i = 0; i < table->column_count; i++)
		if (has_word(key_of(table), table->columns[i].name))
			add_index(text, table, &table->columns[i]);
}

/* -------------------------------------------------------------------------------------------------- */

void dump_row_schema(struct ptl_bytes *text, enum dump_row_dialect dialect, const struct dump_row_table *const *tables)
{
	if (dialect == DUMP_ROW_POSTGRESQL)
		common_text_add(text, procedures);
	for (size_t i = 0; tables[i]; i++)
		(dialect == DUMP_ROW_CLICKHOUSE ? add_clickhouse : add_postgresql)(text, tables[i]);
}
