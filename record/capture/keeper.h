/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges the files in memory (--mode buffering) into one file on a separate thread, while the recording goes on. */
#ifndef RECORD_CAPTURE_KEEPER_H
#define RECORD_CAPTURE_KEEPER_H

#include <stdbool.h>

struct record_keeper;

/* path: output file, which must not exist unless `force` is set. Fails with PTL_SYSTEM or PTL_NO_MEMORY. */
int record_keeper_new(const char *path, bool force, struct record_keeper **keeper);
/* Waits for a running merge. */
void record_keeper_free(struct record_keeper *keeper);
/*
 * Writes the merged file as `path` first, and renames the file at the end: the output file is itself an input. Fails
 * with PTL_NO_MEMORY.
 */
int record_keeper_through(struct record_keeper *keeper, const char *path);
/* Marks the next merged file as incomplete for readers, because the recording failed. */
void record_keeper_leave_unfinished(struct record_keeper *keeper);
/* Declares that all added files are closed. Unreadable data in an input is then a failure. */
void record_keeper_expect_whole(struct record_keeper *keeper);
const char *record_keeper_path(const struct record_keeper *keeper);

/*
 * Opens and adds an input of the next merge. The type is that of record_series_files's visit. Fails with PTL_SYSTEM or
 * PTL_NO_MEMORY.
 */
int record_keeper_add(void *keeper, const char *path);
/* Starts merging the added files. */
void record_keeper_start(struct record_keeper *keeper);
bool record_keeper_works(const struct record_keeper *keeper);
/* Returns true once after the merge has ended, with its status and error chain. wait: waits for the end. */
bool record_keeper_done(struct record_keeper *keeper, bool wait, int *status);

#endif
