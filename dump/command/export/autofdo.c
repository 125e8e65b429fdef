/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump autofdo: execution counts of source lines, for profile-guided optimisation. */
#include "dump/command/commands.h"
#include "dump/export/profile/autofdo.h"

static int autofdo_run(struct dump_run *run)
{
	struct analysis_calls calls;
	struct dump_left_out left_out = {0};
	int status = dump_calls_open(&calls, run);

	if (status == 0)
		status = dump_autofdo(run, &calls, &left_out);
	dump_left_out_report(&left_out);
	dump_left_out_free(&left_out);
	dump_calls_close(&calls, run);
	return status;
}

static const char examples[] = "ptl-dump autofdo --image server -o server.prof a.ptl\n"
			       "clang -O2 -gline-tables-only -fprofile-sample-use=server.prof server.c";

const struct dump_command dump_command_autofdo = {
	.name = "autofdo",
	.summary = "how often source lines ran, for LLVM's compilers",
	.details = "Writes how often functions and their source lines ran as a sample profile in LLVM's text format, "
		   "which clang takes with -fprofile-sample-use. Needs debug information of what ran.",
	.examples = examples,
	.takes = DUMP_EXPORT_TAKES | DUMP_TAKES_IMAGE,
	.options_size = sizeof(struct dump_options),
	.run = autofdo_run,
};
