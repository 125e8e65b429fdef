/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump html: an HTML page that shows a trace. */
#include "dump/command/commands.h"
#include "dump/export/html/html.h"

struct html_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	struct dump_html_limits limits;
};

static const struct common_option own_options[] = {
	DUMP_HTML_OPTIONS(struct html_options),
	{NULL},
};

static int html_run(struct dump_run *run)
{
	const int status = dump_export_refuse_terminal(run);

	return status == 0 ? dump_html(run, &((const struct html_options *)run->options)->limits) : status;
}

static const char examples[] = "ptl-dump html -o a.html a.ptl              then open it in a browser\n"
			       "ptl-dump html --process gcc -o gcc.html build.ptl\n"
			       "ptl-dump html -o change.html old.ptl new.ptl   with what differs\n"
			       "ptl-dump open a.ptl                        writes such a page and opens it";

const struct dump_command dump_command_html = {
	.name = "html",
	.many = true,
	.summary = "a page for a browser that shows the trace",
	.details = "Writes one page of HTML that needs nothing else: summary, processes, timeline, functions, flame "
		   "graph, source, events, gaps and losses. A second FILE is compared with the first.",
	.examples = examples,
	.takes = DUMP_EXPORT_TAKES,
	.options = own_options,
	.options_size = sizeof(struct html_options),
	.run = html_run,
};
