/* SPDX-License-Identifier: BSD-2-Clause */
/* The handle of libptl-analysis. */
#include "analysis/library.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/structure.h"
#include "flow/library.h"
#include "flow/symbol/made_code.h"

int ptl_analysis_open(struct ptl_trace *trace, const struct ptl_analysis_options *options,
		      struct ptl_analysis **analysis)
{
	struct ptl_analysis_options taken;
	struct analysis_calls *calls;
	int status;

	if (!trace || !analysis)
		return common_fail(PTL_MISUSE, "ptl_analysis_open needs a trace and a place for the result");
	*analysis = NULL;
	status = common_structure_take_optional("ptl_analysis_options", options, &taken, sizeof(taken));
	if (status < 0)
		return status;
	*analysis = calloc(1, sizeof(**analysis));
	if (!*analysis)
		return common_fail_memory("an analysis", sizeof(**analysis));
	calls = &(*analysis)->calls;
	(*analysis)->filter.last_time = UINT64_MAX;
	calls->input = (struct analysis_input){
		.trace = trace,
		.path = "trace",
		.filter = &(*analysis)->filter,
		.names = taken.no_demangle ? FLOW_NAMES_LINKER : FLOW_NAMES_WHOLE,
	};
	status = flow_made_timeline(trace, &calls->timeline);
	if (status == 0)
		status = flow_symbols_open(trace, calls->timeline, calls->input.names, &calls->symbols);
	if (status == 0)
		status = analysis_functions_open(calls->timeline, calls->symbols, &calls->functions);
	if (status < 0) {
		ptl_analysis_close(*analysis);
		*analysis = NULL;
	}
	return status;
}

void ptl_analysis_close(struct ptl_analysis *analysis)
{
	if (!analysis)
		return;
	analysis_functions_close(analysis->calls.functions);
	flow_symbols_close(analysis->calls.symbols);
	flow_timeline_free(analysis->calls.timeline);
	free(analysis);
}

size_t ptl_analysis_unreadable_symbols(const struct ptl_analysis *analysis)
{
	return flow_symbols_unreadable(analysis->calls.symbols);
}

int analysis_library_options(struct ptl_analysis *analysis, const struct ptl_flow_options *options)
{
	struct flow_view_options view;
	const int status = flow_library_options(options, &view);

	if (status < 0)
		return status;
	view.by_time = false;
	analysis->calls.input.view = view;
	return 0;
}
