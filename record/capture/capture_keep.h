/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges the files of a capture into its output. */
#ifndef RECORD_CAPTURE_CAPTURE_KEEP_H
#define RECORD_CAPTURE_CAPTURE_KEEP_H

struct record_capture;
struct record_keeper;

struct record_keeping {
	struct record_keeper *keeper;  /* set with --mode buffering, else NULL */
	struct record_keeper *appends; /* set with --append to an existing file, else NULL */
	char failure[256];             /* why the last snapshot file could not be written; "" after success */
};

/*
 * Starts writing the files in memory (--mode buffering) to the output file, and prints a message at the end.
 * record_keeper_works tells whether the writing goes on.
 * Fails with PTL_MISUSE if the writing already goes on, PTL_SYSTEM or PTL_NO_MEMORY.
 */
int record_capture_keep(struct record_capture *capture);
/* Prints a message about a merge that has ended. */
void record_capture_look_at_keeper(struct record_capture *capture);
/* Merges all files in memory at the end, when recording has stopped. */
int record_capture_keep_all(struct record_capture *capture);
/*
 * --append merges the existing file and the new part into a third file. Both stay until the third replaces the existing
 * file.
 */
int record_capture_append_part(struct record_capture *capture, const char *part);
void record_keeping_free(struct record_keeping *keeping);

#endif
