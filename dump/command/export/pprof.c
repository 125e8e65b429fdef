/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump pprof: paths of calls as a profile for pprof. */
#include "common/error.h"
#include "dump/command/commands.h"
#include "dump/export/path_run.h"
#include "dump/export/profile/pprof.h"

struct pprof_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	struct dump_path_options paths;
	bool lines;
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is written:"},
	{"by", 'b', "WHAT",
	 "What pprof shows unless asked for another (default: instructions; of samples their periods).",
	 COMMON_CHOICE(struct pprof_options, paths.by, dump_path_values),
	 COMMON_GIVEN(struct pprof_options, paths.by_given)},
	ANALYSIS_SAMPLE_OPTIONS(struct pprof_options, paths.samples),
	{"depth", 'd', "N", "Calls up to N deep; deeper ones are part of their callers (default: 512).",
	 COMMON_NUMBER(struct pprof_options, paths.depth, 1, UINT32_MAX)},
	{"lines", 0, NULL, "Tells apart on which lines of the source instructions ran, with debug information.",
	 COMMON_FLAG(struct pprof_options, lines)},
	{NULL},
};

static int pprof_run(struct dump_run *run)
{
	struct pprof_options *options = (struct pprof_options *)run->options;
	struct dump_path_run path_run = {0};
	struct dump_left_out left_out = {0};
	bool by_time;
	int status = dump_export_refuse_terminal(run);

	if (status < 0)
		return status;
	options->paths.group = ANALYSIS_PATH_THREAD;
	status = dump_path_run_open(&path_run, run, NULL);
	if (status == 0)
		status = dump_path_run_decode(&path_run, &options->paths);
	dump_path_run_left_out(&path_run, &left_out);
	if (status == 0)
		status = dump_path_run_by_time(&path_run, 1, &options->paths, &by_time);
	if (status == 0)
		status = dump_pprof(run, &path_run, by_time, options->lines, &left_out);
	dump_left_out_report(&left_out);
	dump_left_out_free(&left_out);
	dump_path_run_close(&path_run);
	return status;
}

static int pprof_check(const struct dump_options *shared)
{
	const struct pprof_options *options = (const struct pprof_options *)shared;

	if (options->paths.samples.enabled && options->lines)
		return common_fail(PTL_MISUSE, "--lines is of instructions that ran, and --samples has none");
	return dump_path_options_check(&options->paths);
}

static const char examples[] = "ptl-dump pprof -o a.pb.gz a.ptl && go tool pprof -top a.pb.gz\n"
			       "go tool pprof -sample_index=time -tagfocus=process=gzip -http=: a.pb.gz\n"
			       "ptl-dump pprof --lines -o a.pb.gz a.ptl && go tool pprof -list main a.pb.gz\n"
			       "go tool pprof -tags a.pb.gz          processes and threads";

const struct dump_command dump_command_pprof = {
	.name = "pprof",
	.summary = "paths of calls as a profile for pprof",
	.details = "Writes calls, instructions and time of each path of calls as a gzip'd profile for pprof, with "
		   "process and thread as tags.",
	.examples = examples,
	.takes = DUMP_EXPORT_TAKES | DUMP_TAKES_CALLS,
	.options = own_options,
	.options_size = sizeof(struct pprof_options),
	.check = pprof_check,
	.run = pprof_run,
};
