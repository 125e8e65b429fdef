/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that are still being written. */
#ifndef RELOG_FOLLOW_H
#define RELOG_FOLLOW_H

#include <stdbool.h>

/*
 * Returns when nothing more is to come: the file is a trace that was closed, nobody has it open for writing any more (where
 * the file system can tell), or a signal came, here or in an earlier call. name is for messages.
 */
void relog_follow(int fd, const char *name);

/*
 * Whether a file or a pipe begins as a trace, for which its first bytes are waited for; nothing is taken from a pipe. False where
 * its writer is gone or a signal comes first.
 */
bool relog_follow_is_trace(int fd);
/* Whether a file that begins as a trace may have Intel PT: what made it says so at its start, which is waited for. True where that is not known. */
bool relog_follow_may_have_pt(int fd, const char *name);
/* While a trace is worked on as it comes, signals are a word to it: so many until what has come is all of it. */
void relog_follow_begin(int fd);
bool relog_follow_is_open(void); /* until relog_follow_end */
/* Whether they have come. */
bool relog_follow_is_over(const char *name);
void relog_follow_end(void);
/* Whether they came for a trace before. */
bool relog_follow_was_interrupted(void);

#endif
