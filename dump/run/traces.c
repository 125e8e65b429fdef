/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the traces of a command in turn. */
#include "dump/run/traces.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "format/reader/trace_end.h"

/* Copies the options with a separate set of pids: --process adds processes of one trace only. */
static int copy_options(const struct dump_options *from, struct dump_options *to)
{
	*to = *from;
	to->filter.pids = (struct common_id_set){0};
	for (size_t i = 0; i < from->filter.pids.count; i++)
		if (common_id_set_add(&to->filter.pids, from->filter.pids.ids[i]) < 0)
			return PTL_NO_MEMORY;
	return 0;
}

/* Calls `take` on the open trace of the run. */
static int take_trace(const struct dump_options *options, struct dump_run *run,
		      int (*take)(void *context, struct dump_run *run), void *context)
{
	struct dump_options own;
	int status = copy_options(options, &own);

	run->options = &own;
	if (!status)
		status = analysis_filter_resolve(&own.filter, ptl_trace_machine(run->trace),
						 format_trace_end(run->trace));
	if (!status)
		status = take(context, run);
	common_id_set_free(&own.filter.pids);
	return status;
}

int dump_run_traces(struct dump_run *run, int (*take)(void *context, struct dump_run *run), void *context)
{
	struct dump_run own = *run;
	bool damaged = false;
	int status = take_trace(run->options, &own, take, context);

	for (size_t i = 0; status >= 0 && i < run->more_count; i++) {
		own = *run;
		own.path = run->more[i];
		own.trace = NULL;
		/* dump_run_open has reported the error. */
		status = dump_run_open(&own);
		if (status < 0)
			return common_fail(status, "%s cannot be read; without it nothing is complete", own.path);
		status = take_trace(run->options, &own, take, context);
		damaged |= dump_run_close(&own);
	}
	return status < 0 ? status : damaged ? COMMON_EXIT_INPUT : 0;
}
