/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump callgrind: functions and calls, for callgrind_annotate and kcachegrind. */
#include "common/error.h"
#include "dump/command/commands.h"
#include "dump/export/path_run.h"
#include "dump/export/profile/callgrind.h"

struct callgrind_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	bool lines;
	struct analysis_sample_options samples;
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is written:"},
	{"lines", 0, NULL, "Tells apart on which lines of the source instructions ran, with debug information.",
	 COMMON_FLAG(struct callgrind_options, lines)},
	ANALYSIS_SAMPLE_OPTIONS(struct callgrind_options, samples),
	{NULL},
};

static int callgrind_run(struct dump_run *run)
{
	const struct callgrind_options *own = (const struct callgrind_options *)run->options;
	/* Unlimited depth: the format needs only pairs of caller and callee. */
	const struct dump_path_options options = {
		.group = ANALYSIS_PATH_ALL, .depth = UINT32_MAX, .samples = own->samples};
	struct dump_path_run path_run = {0};
	struct dump_left_out left_out = {0};
	int status = dump_path_run_open(&path_run, run, NULL);

	if (status == 0)
		status = dump_path_run_decode(&path_run, &options);
	dump_path_run_left_out(&path_run, &left_out);
	if (status == 0)
		status = dump_callgrind(run, &path_run, own->lines, &left_out);
	dump_left_out_report(&left_out);
	dump_left_out_free(&left_out);
	dump_path_run_close(&path_run);
	return status;
}

static int callgrind_check(const struct dump_options *shared)
{
	const struct callgrind_options *options = (const struct callgrind_options *)shared;

	if (options->samples.enabled && options->lines)
		return common_fail(PTL_MISUSE, "--lines is of instructions that ran, and --samples has none");
	return analysis_sample_options_check(&options->samples);
}

static const char examples[] =
	"ptl-dump callgrind -o callgrind.out.a a.ptl && callgrind_annotate callgrind.out.a\n"
	"ptl-dump callgrind --lines -o callgrind.out.a a.ptl && callgrind_annotate --auto=yes callgrind.out.a\n"
	"ptl-dump callgrind --process gzip -o callgrind.out.gzip build.ptl && kcachegrind "
	"callgrind.out.gzip";

const struct dump_command dump_command_callgrind = {
	.name = "callgrind",
	.summary = "functions and their calls for kcachegrind",
	.details = "Writes instructions and time of functions and of their calls of each other as callgrind does, for "
		   "callgrind_annotate and kcachegrind.",
	.examples = examples,
	.takes = DUMP_EXPORT_TAKES | DUMP_TAKES_CALLS,
	.options = own_options,
	.options_size = sizeof(struct callgrind_options),
	.check = callgrind_check,
	.run = callgrind_run,
};
