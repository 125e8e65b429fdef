/* SPDX-License-Identifier: BSD-2-Clause */
/* Common start of commands about calls. */
#include "dump/run/calls.h"

#include "analysis/call/call_selection.h"

int dump_calls_open(struct analysis_calls *calls, struct dump_run *run)
{
	int status;

	*calls = (struct analysis_calls){0};
	status = dump_run_timeline(run, &calls->timeline);
	calls->input = dump_run_input(run);
	if (status == 0)
		status = flow_symbols_open(run->trace, calls->timeline, dump_run_names(run), &calls->symbols);
	if (status == 0)
		status = analysis_functions_open(calls->timeline, calls->symbols, &calls->functions);
	if (status == 0)
		status = analysis_call_selection_open(calls, run->options->calls);
	run->spans = calls->input.view.spans;
	return status;
}

void dump_calls_close(struct analysis_calls *calls, struct dump_run *run)
{
	dump_run_warn_symbols(run, calls->symbols);
	run->spans = NULL;
	analysis_call_selection_close(calls->selection);
	analysis_functions_close(calls->functions);
	flow_symbols_close(calls->symbols);
	flow_timeline_free(calls->timeline);
}
