/* SPDX-License-Identifier: BSD-2-Clause */
/* Common start of commands about calls: timeline, symbols, functions, and the run over the trace. */
#ifndef DUMP_CALL_CALL_SESSION_H
#define DUMP_CALL_CALL_SESSION_H

#include "dump/call/call_view.h"
#include "dump/session/session.h"

struct dump_call_session {
	struct dump_session *session;
	struct flow_timeline *timeline;
	struct flow_symbols *symbols;
	struct dump_function_table *functions;
};

/*
 * Opens the timeline, symbols and functions. Close in any case. Returns the status of dump_session_timeline,
 * flow_symbols_open or dump_functions_open.
 */
int dump_call_session_open(struct dump_call_session *calls, struct dump_session *session);
void dump_call_session_close(struct dump_call_session *calls);
/* Runs the observer over the selected flow. Prints a note without flow. */
int dump_call_session_run(struct dump_call_session *calls, const struct dump_call_observer *observer);
/* Call after the run. Returns PTL_MISUSE if no executed function matches the pattern of this option. */
int dump_call_session_check(const struct dump_call_session *calls, const char *option, const char *pattern);

/* Cache of functions that match a pattern. Set calls and pattern, zero the other members. */
struct dump_matches {
	const struct dump_call_session *calls;
	const char *pattern;
	uint8_t *known; /* by function; owned */
	size_t capacity;
	uint32_t first; /* first matching function, from 1; 0: none so far */
	bool several;   /* functions with different names match */
};

/* Whether a function matches: 1 or 0, or PTL_NO_MEMORY. */
int dump_matches(struct dump_matches *matches, uint32_t function);
void dump_matches_free(struct dump_matches *matches);
/* Appends the function's name, or the pattern if several names match. */
void dump_matches_text(const struct dump_matches *matches, struct ptl_bytes *text);

#endif
