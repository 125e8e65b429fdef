/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump bolt: counts of branches, for optimisation of the linked program. */
#include "dump/command/commands.h"
#include "dump/export/profile/bolt.h"

static int bolt_run(struct dump_run *run)
{
	struct analysis_calls calls;
	struct dump_left_out left_out = {0};
	int status = dump_calls_open(&calls, run);

	if (status == 0)
		status = dump_bolt(run, &calls, &left_out);
	dump_left_out_report(&left_out);
	dump_left_out_free(&left_out);
	dump_calls_close(&calls, run);
	return status;
}

static const char examples[] = "ptl-dump bolt --image server -o server.fdata a.ptl\n"
			       "llvm-bolt server -data server.fdata -o server.bolt -reorder-blocks=ext-tsp";

const struct dump_command dump_command_bolt = {
	.name = "bolt",
	.summary = "how often branches went where, for LLVM's BOLT",
	.details = "Writes how often each branch of a program went where, as a profile for llvm-bolt (fdata), which "
		   "optimises the linked program. Needs the symbols of the program.",
	.examples = examples,
	.takes = DUMP_EXPORT_TAKES | DUMP_TAKES_IMAGE,
	.options_size = sizeof(struct dump_options),
	.run = bolt_run,
};
