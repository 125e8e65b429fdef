/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump table: rows of one table from one or more traces. */
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/export/export.h"
#include "dump/export/profile/labels.h"
#include "dump/export/table/row_schema.h"
#include "dump/export/table/row_text.h"
#include "dump/run/run.h"
#include "dump/run/traces.h"

struct table_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	enum dump_row_format format;
	bool no_header;
	bool has_ddl;
	enum dump_row_dialect ddl;
	struct dump_labels labels;
};

static const char *const format_words[] = {[DUMP_ROW_TSV] = "tsv",
					   [DUMP_ROW_CSV] = "csv",
					   [DUMP_ROW_JSON_LINES] = "json",
					   [DUMP_ROW_BINARY] = "rowbinary",
					   [DUMP_ROW_BINARY_NAMES] = "rowbinary-names",
					   [DUMP_ROW_SCRIPT] = "postgresql",
					   NULL};

static const char *const ddl_words[] = {
	[DUMP_ROW_CLICKHOUSE] = "clickhouse", [DUMP_ROW_POSTGRESQL] = "postgresql", NULL};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is written:"},
	{"format", 0, "FORMAT",
	 "tsv: tab-separated, as ClickHouse and PostgreSQL read it (default); csv; json: an object a line; rowbinary: "
	 "ClickHouse's; rowbinary-names: its RowBinaryWithNamesAndTypes; postgresql: a script for psql, which replaces "
	 "what it has of a trace.",
	 COMMON_CHOICE(struct table_options, format, format_words)},
	{"no-header", 0, NULL, "Without a first line with the names of the columns.",
	 COMMON_FLAG(struct table_options, no_header)},
	DUMP_LABEL_OPTIONS(struct table_options, labels),
	{"ddl", 0, "DATABASE", "Prints the SQL that makes TABLE, or all tables, and needs no FILE.",
	 COMMON_CHOICE(struct table_options, ddl, ddl_words), COMMON_GIVEN(struct table_options, has_ddl)},
	{NULL},
};

static int find_table(const char *name, const struct dump_row_table **table)
{
	struct ptl_bytes names = {0};
	int status;

	for (size_t i = 0; dump_row_tables[i]; i++) {
		if (strcmp(dump_row_tables[i]->name, name) == 0) {
			*table = dump_row_tables[i];
			common_bytes_free(&names);
			return 0;
		}
		common_text_add(&names, i ? ", " : "");
		common_text_add(&names, dump_row_tables[i]->name);
	}
	status = common_fail(PTL_MISUSE, "there is no table '%s'; there is: %s", name, common_text_string(&names));
	common_bytes_free(&names);
	return status;
}

struct table_run {
	struct dump_row_text text;
	const struct dump_row_table *table;
	struct ptl_bytes labels;
};

static int add_trace(void *context, struct dump_run *run)
{
	struct table_run *table_run = context;
	int status;

	dump_row_text_begin(&table_run->text, table_run->table, run);
	status = dump_row_run(run, &table_run->table, 1, common_text_string(&table_run->labels), &table_run->text.sink);
	return status ? status : dump_row_text_end(&table_run->text);
}

/* Prints the definition of one table or of all tables. */
static int print_ddl(struct dump_run *run, enum dump_row_dialect dialect)
{
	const struct dump_row_table *one[2] = {NULL};
	struct ptl_bytes text = {0};
	int status = run->operand ? find_table(run->operand, &one[0]) : 0;

	if (status == 0) {
		dump_row_schema(&text, dialect, run->operand ? one : dump_row_tables);
		common_text_write(&text, run->out);
		status = text.failed ? common_fail_memory("statements", text.size) : 0;
	}
	common_bytes_free(&text);
	return status;
}

/* Whether a header may be left out. */
static bool has_header(enum dump_row_format format)
{
	return format == DUMP_ROW_TSV || format == DUMP_ROW_CSV;
}

static bool needs_no_trace(const struct dump_options *options)
{
	return ((const struct table_options *)options)->has_ddl;
}

static void table_free_options(struct dump_options *options)
{
	common_string_list_free(&((struct table_options *)options)->labels.given);
}

static int table_run(struct dump_run *run)
{
	const struct table_options *options = (const struct table_options *)run->options;
	struct table_run table_run = {
		.text = {.sink = {dump_row_text_write}, .run = run, .format = options->format},
	};
	int status;

	if (options->has_ddl)
		return print_ddl(run, options->ddl);
	status = find_table(run->operand, &table_run.table);
	if (status == 0 && (options->format == DUMP_ROW_BINARY || options->format == DUMP_ROW_BINARY_NAMES))
		status = dump_export_refuse_terminal(run);
	if (status == 0)
		status = dump_labels_format(&options->labels, &table_run.labels);
	/* Checks the options before printing the names of columns. */
	if (status == 0)
		status = dump_run_check(run);
	if (status == 0 && !(options->no_header && has_header(options->format)))
		dump_row_text_head(&table_run.text, table_run.table);
	if (status == 0)
		status = dump_run_traces(run, add_trace, &table_run);
	dump_row_text_free(&table_run.text);
	common_bytes_free(&table_run.labels);
	return status;
}

const struct dump_command dump_command_table = {
	.name = "table",
	.operand = "TABLE",
	.many = true,
	.summary = "rows of events, calls, functions and more, for databases",
	.details = "Writes the rows of one TABLE of all traces: traces, processes, threads, images, events, calls, "
		   "gaps, losses, "
		   "profile (a row for each function) or coverage (for each line of the source). Each row says which "
		   "trace and which machine "
		   "it is of.",
	.examples = "ptl-dump table profile *.ptl >profile.tsv\n"
		    "ptl-dump table calls --format rowbinary *.ptl | clickhouse-client -q 'INSERT INTO calls FORMAT "
		    "RowBinary'\n"
		    "ptl-dump table --ddl postgresql | psql\n"
		    "ptl-dump table events --label commit=abc --format postgresql *.ptl | psql -q\n"
		    "ptl-dump table images --format json a.ptl | jq -r .build_id",
	.takes = DUMP_EXPORT_TAKES | DUMP_TAKES_IMAGE,
	.options = own_options,
	.options_size = sizeof(struct table_options),
	.needs_no_trace = needs_no_trace,
	.run = table_run,
	.free_options = table_free_options,
};
