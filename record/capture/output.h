/* SPDX-License-Identifier: BSD-2-Clause */
/* The trace file during the recording: opens the file under its final name, and handles failed writes. */
#ifndef RECORD_CAPTURE_OUTPUT_H
#define RECORD_CAPTURE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/writer.h>

#include "format/writer/closing.h"

/* Bits: the user's wish for an existing output. */
#define RECORD_OUTPUT_REPLACE 1u /* --force */
#define RECORD_OUTPUT_NAMED 2u   /* the user chose the name by -o; without this bit, everybody can foresee the name */

/*
 * Opens an output for writing, and sets *fd to its descriptor, which is close-on-exec.
 * A new regular file gets its name at once, so a killed recorder leaves a readable file. An existing file is an error
 * unless RECORD_OUTPUT_REPLACE is set, which replaces the file by a new one. A file locked by a recorder (flock(2)) is
 * never replaced; each recorder locks its file until the close.
 * Pipes and devices are opened if RECORD_OUTPUT_NAMED is set and only this user or root can have created them; with
 * RECORD_OUTPUT_REPLACE, others too. Waits for the reader of a FIFO until a signal arrives. "/dev/fd/N" is descriptor N
 * of the caller's parent, and is closed for the command.
 * Fails with PTL_SYSTEM or PTL_MISUSE.
 */
int record_output_create(const char *path, unsigned wish, int *fd);

/*
 * A trace being written. Functions below return 0 even if a write fails: the failure is reported once and counted, and
 * the recording goes on. Only missing memory makes the functions fail.
 */
struct record_output {
	struct ptl_writer *writer;
	char *path;                   /* owned */
	int fd;                       /* second descriptor of the file, to check the file's name; -1 if none */
	bool is_stream;               /* pipe or socket: a failed write makes all later writes fail */
	bool failed;                  /* a write failed */
	bool broken;                  /* no further write can succeed */
	bool vanished;                /* the file has lost its name */
	bool in_memory;               /* the file is in memory, without a name from the start */
	struct format_writer_end end; /* results of the closed file */
};

/*
 * Opens the trace as record_output_create does. "-" is standard output; afterwards standard output of this process and
 * its children is standard error.
 */
int record_output_open(struct record_output *output, const char *path, unsigned wish,
		       const struct ptl_writer_options *options);
/* Opens a trace in memory. path: the descriptor's path in /proc. */
int record_output_open_memory(struct record_output *output, const char *path, const struct ptl_writer_options *options);
/* Closes the file. Returns 0, or the first failed write. */
int record_output_close(struct record_output *output);
/* Closes the file of an empty recording. Removes the file if the recorder created it. */
void record_output_discard(struct record_output *output);

/* status: result of a ptl_writer_* call. Notes a failed write, and returns 0 instead of the failure. */
int record_output_check(struct record_output *output, int status);

/* Checks the name of the open file. Warns once if the name is gone. */
void record_output_look(struct record_output *output);

#endif
