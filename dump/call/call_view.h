/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the fold of calls over a trace: workers find transfers, which are taken in order, thread after thread. */
#ifndef DUMP_CALL_CALL_VIEW_H
#define DUMP_CALL_CALL_VIEW_H

#include "dump/call/call_stack.h"
#include "flow/view/view.h"

/*
 * Decodes the selection and tells the observer of all calls of each thread, one thread after the other: what it is given
 * is the same for any number of threads that decode. Its functions are called one at a time, but not always on the same
 * thread. What flow_view_run and the observer return.
 */
int dump_calls_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
		   const struct flow_view_options *options, struct dump_function_table *functions,
		   const struct dump_call_observer *observer);

#endif
