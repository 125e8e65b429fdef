/* SPDX-License-Identifier: BSD-2-Clause */
/* What all commands about calls begin with: the timeline, the names, and the run over the trace. */
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

/* What dump_session_timeline and the others return; close in any case. */
int dump_call_session_open(struct dump_call_session *calls, struct dump_session *session);
void dump_call_session_close(struct dump_call_session *calls);
/* Runs the observer over what the session's options select, and says where there was nothing. */
int dump_call_session_run(struct dump_call_session *calls, const struct dump_call_observer *observer);
/* PTL_MISUSE where no function of the flow matches the pattern of that option; to be asked after the run. */
int dump_call_session_check(const struct dump_call_session *calls, const char *option, const char *pattern);

/* The functions that a pattern means, asked for each once. Set calls and pattern, zero the rest. */
struct dump_matches {
	const struct dump_call_session *calls;
	const char *pattern;
	uint8_t *known; /* by function; owned */
	size_t capacity;
	uint32_t first; /* one that matched, counted from 1; 0: none has */
	bool several;   /* others have, too */
};

/* 1 or 0; PTL_NO_MEMORY. */
int dump_matches(struct dump_matches *matches, uint32_t function);
void dump_matches_free(struct dump_matches *matches);
/* Appends the name of the function, or the pattern where it means several. */
void dump_matches_text(const struct dump_matches *matches, struct ptl_bytes *text);

#endif
