/* SPDX-License-Identifier: BSD-2-Clause */
/* What all commands about calls begin with: the timeline, the names, and the run over the trace. */
#ifndef DUMP_ANALYSIS_CALL_SESSION_H
#define DUMP_ANALYSIS_CALL_SESSION_H

#include "dump/analysis/call_view.h"
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

#endif
