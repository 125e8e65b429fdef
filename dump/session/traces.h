/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that take many traces, one after the other. */
#ifndef DUMP_SESSION_TRACES_H
#define DUMP_SESSION_TRACES_H

#include "dump/session/command.h"

/*
 * Calls take for the session's own trace and for those behind it, each with a session of its own: its trace, its path, and what
 * the options select of it. Only one of the others is open at a time. Ends with what take returns, if that is negative; else 0,
 * or COMMON_EXIT_INPUT where one of the others is damaged, which has been reported.
 */
int dump_session_traces(struct dump_session *session, int (*take)(void *context, struct dump_session *session),
			void *context);

#endif
