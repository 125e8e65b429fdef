/* SPDX-License-Identifier: BSD-2-Clause */
/* Common start of commands about calls: timeline, symbols and functions. */
#ifndef DUMP_RUN_CALLS_H
#define DUMP_RUN_CALLS_H

#include "analysis/call/call_input.h"
#include "dump/run/run.h"

/*
 * Opens the timeline, symbols and functions, and finds the calls that --calls selects: views of the run are limited to
 * these calls until the close. Close in any case. Returns the status of dump_run_timeline, flow_symbols_open,
 * analysis_functions_open or analysis_call_selection_open.
 */
int dump_calls_open(struct analysis_calls *calls, struct dump_run *run);
void dump_calls_close(struct analysis_calls *calls, struct dump_run *run);

#endif
