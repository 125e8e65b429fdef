/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that are still being written. */
#ifndef RELOG_FOLLOW_H
#define RELOG_FOLLOW_H

/*
 * Returns when nothing more is to come: the file is a trace that was closed, nobody has it open for writing any more (where
 * the file system can tell), or a signal came, here or in an earlier call. name is for messages.
 */
void relog_follow(int fd, const char *name);

#endif
