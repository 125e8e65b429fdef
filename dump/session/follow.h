/* SPDX-License-Identifier: BSD-2-Clause */
/* --follow: reads a trace while a recorder writes it. */
#ifndef DUMP_SESSION_FOLLOW_H
#define DUMP_SESSION_FOLLOW_H

#include "dump/session/command.h"

/*
 * Opens the session's trace in real time, and installs signal handlers. A signal ends a wait with PTL_CANCELLED. If
 * FILE is standard input, the writer of the pipe gets the first signal too, and only a second signal ends the wait. The
 * output is flushed before each wait. Returns the status of ptl_open_realtime.
 */
int dump_follow_open(struct dump_session *session, const struct ptl_open_options *options);
/* Whether a signal of the user has ended the command. */
bool dump_follow_interrupted(void);
/* Converts the status of a run to the command's: an end by the user is no failure. */
int dump_follow_end(const struct dump_session *session, int status);
/* Waits until the trace is complete. Calls session->idle meanwhile. */
int dump_follow_wait(struct dump_session *session);

#endif
