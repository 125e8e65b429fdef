/* SPDX-License-Identifier: BSD-2-Clause */
/* --calls: the calls of a function to which a command is limited. */
#ifndef ANALYSIS_CALL_CALL_SELECTION_H
#define ANALYSIS_CALL_CALL_SELECTION_H

#include "analysis/call/call_set.h"

struct analysis_call_selection {
	char *pattern; /* owned */
	struct query_row where;
	struct analysis_call_set set;
	struct flow_spans spans; /* code that the calls executed; the list is owned */
};

/* Checks the text without a trace. Returns PTL_MISUSE with a text, or PTL_NO_MEMORY. */
int analysis_call_selection_check(const char *text);
/* Whether the text has an expression behind the function. */
bool analysis_call_selection_has_expression(const char *text);
/*
 * Finds the calls that the text selects: "FUNCTION" or "FUNCTION: EXPRESSION"; NULL: no selection. Stores the selection in
 * calls->selection, and limits views of calls->input to these calls. Returns PTL_MISUSE with a text, PTL_NO_MEMORY, or a
 * status of analysis_calls_walk. Call analysis_call_selection_close in any case, before the functions are closed.
 */
int analysis_call_selection_open(struct analysis_calls *calls, const char *text);
/* Runs the observer over the selected flow and calls. Prints a note without flow. Returns the status of analysis_calls_run. */
int analysis_calls_observe(struct analysis_calls *calls, const struct analysis_call_observer *observer);
/* NULL is allowed. */
void analysis_call_selection_close(struct analysis_call_selection *selection);

#endif
