/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump browse: a trace in a full-screen view. */
#include "dump/browse/browser.h"
#include "dump/command/commands.h"

static const char examples[] = "ptl-dump browse build.ptl\n"
			       "ptl-dump browse --process gzip --last 10ms a.ptl";

const struct dump_command dump_command_browse = {
	.name = "browse",
	.summary = "processes, threads, report and calls on the whole screen",
	.details = "Shows processes and threads, what functions took, and calls as a tree that arrow keys open, with "
		   "source lines. The key ? tells all keys.",
	.examples = examples,
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_DECODE | DUMP_TAKES_NAMES |
		 DUMP_TAKES_FULL,
	.options_size = sizeof(struct dump_options),
	.run = dump_browse_run,
};
