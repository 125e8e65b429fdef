/* SPDX-License-Identifier: BSD-2-Clause */
/* Follows files that are still being written. */
#ifndef RELOG_FOLLOW_H
#define RELOG_FOLLOW_H

#include <stdbool.h>

/*
 * Returns when the file is complete: the file is a closed trace, no process has the file open for writing (if the file
 * system can tell), or a signal has come, during this call or an earlier one. name: for messages.
 */
void relog_follow(int fd, const char *name);

/*
 * Waits for the first bytes of a file or a pipe. Returns whether they begin a trace; consumes no bytes of a pipe. False
 * if the writer is gone or a signal comes first.
 */
bool relog_follow_is_trace(int fd);
/*
 * Whether a file that begins as a trace may have Intel PT. Waits until the recorder has written its source at the start
 * of the trace. True if the source stays unknown.
 */
bool relog_follow_may_have_pt(int fd, const char *name);
/*
 * Starts following: until relog_follow_end, signals end the trace instead of the program. One signal ends a file; a
 * pipe needs COMMON_INTERRUPT_PIPE signals.
 */
void relog_follow_begin(int fd);
bool relog_follow_is_open(void); /* between relog_follow_begin and relog_follow_end */
/* Whether the signals that end the trace have come. */
bool relog_follow_is_over(const char *name);
void relog_follow_end(void);
/* Whether a signal has ended an earlier trace. */
bool relog_follow_was_interrupted(void);

#endif
