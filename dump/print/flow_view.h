/* SPDX-License-Identifier: BSD-2-Clause */
/* The view behind ptl-dump flow: each segment's flow as text, written out in order. */
#ifndef DUMP_PRINT_FLOW_VIEW_H
#define DUMP_PRINT_FLOW_VIEW_H

#include "dump/session/command.h"
#include "dump/print/flow.h"
#include "dump/print/flow_events.h"
#include "dump/print/flow_where.h"
#include "flow/view/view.h"

/* What is shown; `shown` is set where there was anything. */
struct dump_flow_run {
	const struct dump_session *session;
	const struct dump_flow_print *print;
	const struct dump_flow_format *format;
	/* For each image of the timeline whether its code is shown; NULL: all. */
	const bool *images_wanted;
	const struct query_row *where;   /* what is asked of blocks */
	struct dump_flow_events *events; /* shown between blocks; NULL: none are */
	bool shown;
};

/*
 * Runs the view. options->by_time must be print->merged. What a segment gives is made on the workers;
 * writing is in order. Returns what flow_view_run returns, and dump_output_check's failures.
 */
int dump_flow_view_run(struct dump_flow_run *run, const struct flow_view_options *options);

#endif
