/* SPDX-License-Identifier: BSD-2-Clause */
/* The view of ptl-dump flow: formats the flow of each segment as text, and writes the text in order. */
#ifndef DUMP_FLOW_FLOW_VIEW_H
#define DUMP_FLOW_FLOW_VIEW_H

#include "dump/flow/flow.h"
#include "dump/flow/flow_events.h"
#include "dump/flow/flow_where.h"
#include "dump/run/command.h"
#include "flow/view/view.h"

/* Parameters of the view. The view sets `shown` if any line was written. */
struct dump_flow_run {
	const struct dump_run *run;
	const struct dump_flow_print *print;
	const struct dump_flow_format *format;
	/* flag by image in the timeline: its code is shown; NULL: all images */
	const bool *images_wanted;
	const struct query_row *where;   /* condition on blocks */
	struct dump_flow_events *events; /* events between blocks; NULL: none */
	bool shown;
};

/* Returns the default number of threads. */
unsigned dump_flow_threads(enum dump_flow_level level);

/*
 * Runs the view. options->by_time must equal print->merged. Workers format segments; text is written in order. Returns
 * a status of flow_view_run or dump_output_check.
 */
int dump_flow_view_run(struct dump_flow_run *flow_run, const struct flow_view_options *options);

#endif
