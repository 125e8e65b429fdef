/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump sqlite: a database with the rows of traces. */
#include "common/error.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/export/export.h"
#include "dump/export/profile/labels.h"
#include "dump/export/table/sqlite.h"
#include "dump/run/output.h"
#include "dump/run/traces.h"

struct sqlite_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	bool no_calls;
	struct dump_labels labels;
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is written:"},
	{"no-calls", 0, NULL, "Without calls and their functions: nothing but gaps is looked for in the flow.",
	 COMMON_FLAG(struct sqlite_options, no_calls)},
	DUMP_LABEL_OPTIONS(struct sqlite_options, labels),
	{NULL},
};

static const struct dump_row_table *const tables[] = {
	&dump_row_traces, &dump_row_processes, &dump_row_threads, &dump_row_images,  &dump_row_events,
	&dump_row_gaps,   &dump_row_losses,    &dump_row_calls,   &dump_row_symbols, NULL,
};
#define TABLES (sizeof(tables) / sizeof(tables[0]) - 1)
#define TABLES_OF_CALLS 2 /* these come last */

struct table_run {
	struct dump_sqlite *database;
	size_t table_count;
	uint64_t traces;
	struct ptl_bytes labels;
};

static void sqlite_free_options(struct dump_options *options)
{
	common_string_list_free(&((struct sqlite_options *)options)->labels.given);
}

static int sqlite_check(const struct dump_options *options)
{
	if (!options->output)
		return common_fail(PTL_MISUSE, "a database is no stream: -o FILE says where it goes");
	return 0;
}

static int add_trace(void *context, struct dump_run *run)
{
	struct table_run *table_run = context;

	return dump_row_run(run, tables, table_run->table_count, common_text_string(&table_run->labels),
			    dump_sqlite_trace(table_run->database, ++table_run->traces));
}

static int sqlite_run(struct dump_run *run)
{
	const struct sqlite_options *options = (const struct sqlite_options *)run->options;
	struct table_run table_run = {.table_count = TABLES - (options->no_calls ? TABLES_OF_CALLS : 0)};
	const char *path = dump_output_file(run);
	int status, finding = 0;

	if (!path)
		return common_fail(PTL_MISUSE, "%s is no file: a database needs one", run->options->output);
	status = dump_labels_format(&options->labels, &table_run.labels);
	if (status == 0)
		status = dump_sqlite_open(&table_run.database, path, tables);
	if (status == 0)
		status = finding = dump_run_traces(run, add_trace, &table_run);
	if (status >= 0)
		status = dump_sqlite_finish(table_run.database);
	dump_sqlite_close(table_run.database);
	common_bytes_free(&table_run.labels);
	return status ? status : finding;
}

const struct dump_command dump_command_sqlite = {
	.name = "sqlite",
	.many = true,
	.summary = "a database of processes, images, events, calls and gaps",
	.details = "Makes a database of SQLite of one or several traces: tables of traces, processes, threads, images, "
		   "events, calls, "
		   "the functions they are of, gaps and losses, and views that join them.",
	.examples = "ptl-dump sqlite -o build.db build.ptl\n"
		    "ptl-dump sqlite -o all.db *.ptl && sqlite3 all.db 'SELECT * FROM function_list ORDER BY self_time "
		    "DESC LIMIT 10'",
	.takes = DUMP_EXPORT_TAKES | DUMP_TAKES_IMAGE,
	.options = own_options,
	.options_size = sizeof(struct sqlite_options),
	.check = sqlite_check,
	.run = sqlite_run,
	.free_options = sqlite_free_options,
};
