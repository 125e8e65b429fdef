/* SPDX-License-Identifier: BSD-2-Clause */
/* --follow: the trace is read while it is written. */
#ifndef DUMP_SESSION_FOLLOW_H
#define DUMP_SESSION_FOLLOW_H

#include "dump/session/command.h"

/*
 * Opens the session's trace for real time, and from then on takes signals: one ends what waits with PTL_CANCELLED; of a pipe,
 * whose writer has got it, too, the second one. The output is written out before each wait. As ptl_open_realtime.
 */
int dump_follow_open(struct dump_session *session, const struct ptl_open_options *options);
/* Whether the user has seen enough. */
bool dump_follow_interrupted(void);
/* What a run has returned: that the user has ended it is no failure. */
int dump_follow_end(const struct dump_session *session, int status);
/* Waits until the trace is over; session->idle does what there is to do. */
int dump_follow_wait(struct dump_session *session);

#endif
