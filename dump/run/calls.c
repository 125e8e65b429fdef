/* SPDX-License-Identifier: BSD-2-Clause */
/* Common start of commands about calls. */
#include "dump/run/calls.h"

int dump_calls_open(struct analysis_calls *calls, const struct dump_run *run)
{
	int status;

	*calls = (struct analysis_calls){0};
	status = dump_run_timeline(run, &calls->timeline);
	calls->input = dump_run_input(run);
	if (status == 0)
		status = flow_symbols_open(run->trace, calls->timeline, !run->options->no_demangle, &calls->symbols);
	return status == 0 ? analysis_functions_open(calls->timeline, calls->symbols, &calls->functions) : status;
}

void dump_calls_close(struct analysis_calls *calls, const struct dump_run *run)
{
	dump_run_warn_symbols(run, calls->symbols);
	analysis_functions_close(calls->functions);
	flow_symbols_close(calls->symbols);
	flow_timeline_free(calls->timeline);
}
