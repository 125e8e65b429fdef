/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump table: rows of one table, of many traces. */
#include <string.h>

#include "common/error.h"
#include "common/text.h"
#include "dump/command/commands.h"
#include "dump/export/export.h"
#include "dump/export/row_text.h"
#include "dump/session/traces.h"

struct table_options {
	struct dump_options shared; /* first: see dump/session/command.h */
	enum dump_row_format format;
	bool no_header;
};

static const char *const format_words[] = {[DUMP_ROW_TSV] = "tsv",
					   [DUMP_ROW_CSV] = "csv",
					   [DUMP_ROW_JSON_LINES] = "json",
					   [DUMP_ROW_BINARY] = "rowbinary",
					   NULL};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is written:"},
	{"format", 0, "FORMAT",
	 "tsv: tab-separated, as ClickHouse and PostgreSQL read it (default); csv; json: an object a line; rowbinary: "
	 "ClickHouse's.",
	 COMMON_CHOICE(struct table_options, format, format_words)},
	{"no-header", 0, NULL, "Without a first line with the names of the columns.",
	 COMMON_FLAG(struct table_options, no_header)},
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

struct run {
	struct dump_row_text text;
	const struct dump_row_table *table;
};

static int add_trace(void *context, struct dump_session *session)
{
	struct run *run = context;

	return dump_row_run(session, &run->table, 1, &run->text.sink);
}

static int run(struct dump_session *session)
{
	const struct table_options *options = (const struct table_options *)session->options;
	struct run run = {
		.text = {.sink = {dump_row_text_write}, .session = session, .format = options->format},
	};
	int status = find_table(session->operand, &run.table);

	if (status == 0 && options->format == DUMP_ROW_BINARY)
		status = dump_export_binary(session);
	if (status == 0 && !options->no_header)
		dump_row_text_head(&run.text, run.table);
	if (status == 0)
		status = dump_session_traces(session, add_trace, &run);
	dump_row_text_free(&run.text);
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
		    "ptl-dump table events --no-header *.ptl | psql -c '\\copy events from stdin'\n"
		    "ptl-dump table images --format json a.ptl | jq -r .build_id",
	.takes = DUMP_EXPORT_TAKES | DUMP_TAKES_IMAGE,
	.options = own_options,
	.options_size = sizeof(struct table_options),
	.run = run,
};
