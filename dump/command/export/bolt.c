/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump bolt: counts of branches, for optimisation of the linked program. */
#include "common/error.h"
#include "dump/command/commands.h"
#include "dump/export/profile/bolt.h"

struct bolt_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	const char *folder;
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is written:"},
	{"output-dir", 0, "DIR",
	 "A profile for each image: DIR/NAME.fdata. The output lists the profiles with the paths of their images. "
	 "Without "
	 "the option, a single profile is written.",
	 COMMON_PATH(struct bolt_options, folder)},
	{NULL},
};

static int bolt_check(const struct dump_options *options)
{
	const char *folder = ((const struct bolt_options *)options)->folder;

	if (folder && options->output)
		return common_fail(PTL_MISUSE,
				   "-o is for a single profile, and --output-dir for a profile of each image");
	return 0;
}

static int bolt_run(struct dump_run *run)
{
	struct analysis_calls calls;
	struct dump_left_out left_out = {0};
	int status = dump_calls_open(&calls, run);

	if (status == 0)
		status = dump_bolt(run, &calls, ((const struct bolt_options *)run->options)->folder, &left_out);
	dump_left_out_report(&left_out);
	dump_left_out_free(&left_out);
	dump_calls_close(&calls, run);
	return status;
}

static const char examples[] = "ptl-dump bolt --image server -o server.fdata a.ptl\n"
			       "llvm-bolt server -data server.fdata -o server.bolt -reorder-blocks=ext-tsp\n"
			       "ptl-dump bolt --output-dir profiles a.ptl      a profile for each image, in one pass";

const struct dump_command dump_command_bolt = {
	.name = "bolt",
	.summary = "how often branches went where, for LLVM's BOLT",
	.details = "Writes how often each branch of a program went where, as a profile for llvm-bolt (fdata), which "
		   "optimises the linked program. Needs the symbols of the program.",
	.examples = examples,
	.takes = DUMP_EXPORT_TAKES | DUMP_TAKES_IMAGE,
	.options = own_options,
	.options_size = sizeof(struct bolt_options),
	.check = bolt_check,
	.run = bolt_run,
};
