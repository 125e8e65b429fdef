/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the fold of calls over a trace: workers find transfers, which the fold applies in order, thread after thread. */
#ifndef ANALYSIS_CALL_CALL_VIEW_H
#define ANALYSIS_CALL_CALL_VIEW_H

#include "analysis/call/call_stack.h"
#include "flow/view/view.h"

/*
 * Decodes the selection, and reports all calls of each thread to the observer, thread after thread. The reports do not
 * depend on the number of decoding threads. Observer functions run one at a time, but not always on the same thread.
 * Returns 0, a status of flow_view_run, or a status of the observer.
 */
int analysis_calls_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
		       const struct flow_view_options *options, struct analysis_function_table *functions,
		       const struct analysis_call_observer *observer);

#endif
