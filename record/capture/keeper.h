/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes one file of those that are in memory (--mode buffering), in a thread of its own: recording goes on. */
#ifndef RECORD_CAPTURE_KEEPER_H
#define RECORD_CAPTURE_KEEPER_H

#include <stdbool.h>

struct record_keeper;

/* Of a file of this name, which is not to exist unless it may be replaced. PTL_SYSTEM, PTL_NO_MEMORY. */
int record_keeper_new(const char *path, bool force, struct record_keeper **keeper);
/* Waits for what is under way. */
void record_keeper_free(struct record_keeper *keeper);
/* The file is part of itself: it is written under this name, and then gets its own. PTL_NO_MEMORY. */
int record_keeper_through(struct record_keeper *keeper, const char *path);
const char *record_keeper_path(const struct record_keeper *keeper);

/* A file to be part of the next one; it is opened at once. Its type is that of record_series_files's visit. PTL_SYSTEM, PTL_NO_MEMORY. */
int record_keeper_add(void *keeper, const char *path);
/* Begins to write what was added. */
void record_keeper_start(struct record_keeper *keeper);
bool record_keeper_works(const struct record_keeper *keeper);
/* Whether it has ended since this was last asked; *status is what it has come to, with its error chain. wait: until it has. */
bool record_keeper_done(struct record_keeper *keeper, bool wait, int *status);

#endif
