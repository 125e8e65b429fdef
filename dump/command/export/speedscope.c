/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump speedscope: paths of calls for speedscope.app. */
#include "dump/command/commands.h"
#include "dump/export/export.h"
#include "dump/export/flame/speedscope.h"
#include "dump/export/path_run.h"

struct speedscope_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	struct dump_path_options paths;
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is written:"},
	DUMP_PATH_OPTIONS(struct speedscope_options),
	{NULL},
};

static int speedscope_run(struct dump_run *run)
{
	const struct speedscope_options *options = (const struct speedscope_options *)run->options;
	struct dump_path_run path_run = {0};
	struct dump_left_out left_out = {0};
	bool by_time;
	int status = dump_export_refuse_terminal(run);

	if (status == 0)
		status = dump_path_run_open(&path_run, run, NULL);
	if (status == 0)
		status = dump_path_run_decode(&path_run, &options->paths);
	dump_path_run_left_out(&path_run, &left_out);
	if (status == 0)
		status = dump_path_run_by_time(&path_run, 1, &options->paths, &by_time);
	if (status == 0)
		status = dump_speedscope(run, &path_run, by_time, &left_out);
	dump_left_out_report(&left_out);
	dump_left_out_free(&left_out);
	dump_path_run_close(&path_run);
	return status;
}

static int speedscope_check(const struct dump_options *shared)
{
	return dump_path_options_check(&((const struct speedscope_options *)shared)->paths);
}

static const char examples[] = "ptl-dump speedscope -o a.speedscope.json a.ptl    then open it on speedscope.app\n"
			       "ptl-dump speedscope --by time --per thread a.ptl > threads.speedscope.json";

const struct dump_command dump_command_speedscope = {
	.name = "speedscope",
	.summary = "paths of calls for speedscope",
	.details = "Writes what was executed by paths of calls as JSON for speedscope, a viewer of profiles.",
	.examples = examples,
	.takes = DUMP_EXPORT_TAKES | DUMP_TAKES_CALLS,
	.options = own_options,
	.options_size = sizeof(struct speedscope_options),
	.check = speedscope_check,
	.run = speedscope_run,
};
