/* SPDX-License-Identifier: BSD-2-Clause */
/* --follow: reads a trace while a recorder writes it. */
#ifndef DUMP_RUN_FOLLOW_H
#define DUMP_RUN_FOLLOW_H

#include "dump/run/command.h"

/*
 * Opens the run's trace in real time, and installs signal handlers. A signal ends a wait with PTL_CANCELLED. If
 * FILE is standard input, the writer of the pipe gets the first signal too, and only a second signal ends the wait. The
 * output is flushed before each wait. Returns the status of ptl_open_realtime.
 */
int dump_follow_open(struct dump_run *run, const struct ptl_open_options *options);
/* Whether a signal of the user has ended the command. */
bool dump_follow_interrupted(void);
/* Converts the status of a run to the command's: an end by the user is no failure. */
int dump_follow_end(const struct dump_run *run, int status);
/* Waits until the trace is complete. Calls run->idle meanwhile. */
int dump_follow_wait(struct dump_run *run);

#endif
