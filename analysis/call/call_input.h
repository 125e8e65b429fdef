/* SPDX-License-Identifier: BSD-2-Clause */
/* What analyses of calls work on: a trace with its timeline, symbols and functions. */
#ifndef ANALYSIS_CALL_CALL_INPUT_H
#define ANALYSIS_CALL_CALL_INPUT_H

#include "analysis/call/call_view.h"
#include "analysis/input/input.h"
#include "flow/symbol/symbol.h"

struct analysis_call_selection; /* analysis/call/call_selection.h */

struct analysis_calls {
	struct analysis_input input;
	struct flow_timeline *timeline;
	struct flow_symbols *symbols;
	struct analysis_function_table *functions;
	struct analysis_call_selection *selection; /* with --calls; NULL: all calls */
};

/* Runs the observer over the selected flow, with all calls. Returns the status of analysis_calls_run. */
int analysis_calls_walk(const struct analysis_calls *calls, const struct analysis_call_observer *observer);
/* Call after the run. Returns PTL_MISUSE if no executed function matches the pattern of this option. */
int analysis_calls_check(const struct analysis_calls *calls, const char *option, const char *pattern);

/* Cache of functions that match a pattern. Set calls and pattern, zero the other members. */
struct analysis_matches {
	const struct analysis_calls *calls;
	const char *pattern;
	uint8_t *known; /* by function; owned */
	size_t capacity;
	uint32_t first; /* first matching function, from 1; 0: none so far */
	bool several;   /* functions with different names match */
};

/* Whether a function matches: 1 or 0, or PTL_NO_MEMORY. */
int analysis_matches(struct analysis_matches *matches, uint32_t function);
void analysis_matches_free(struct analysis_matches *matches);
/* Appends the function's name, or the pattern if several names match. */
void analysis_matches_text(const struct analysis_matches *matches, struct ptl_bytes *text);

#endif
