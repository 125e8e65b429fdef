/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace file while it is recorded: opened under its own name, and what happens when writing
 * fails.
 */
#ifndef RECORD_CAPTURE_OUTPUT_H
#define RECORD_CAPTURE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/writer.h>

/*
 * Opens an output for writing and puts its descriptor, close-on-exec, into *fd. A new regular file
 * gets its name at once, so that a killed recorder leaves it behind. An existing file is an error
 * unless `force`, which replaces it by a new one, but never one that a recorder is writing: it is
 * locked (flock(2)) as long as it is open. Pipes and devices are written to as they are.
 * "/dev/fd/N" is the descriptor N that the caller's parent passed: it is closed for the command.
 * PTL_SYSTEM, PTL_MISUSE.
 */
int record_output_create(const char *path, bool force, int *fd);

/*
 * A trace being written. Functions below return 0 also when the system refuses to take bytes: that
 * is reported once, counted, and the recording goes on. They fail for lack of memory alone.
 */
struct record_output {
	struct ptl_writer *writer;
	char *path;      /* owned */
	int fd;          /* a second descriptor of the file, to look at it; -1: none */
	bool is_stream;  /* pipe or socket: what failed once fails for ever */
	bool failed;     /* something could not be written */
	bool broken;     /* nothing more can be */
	bool vanished;   /* the file has no name any more */
	bool in_memory;  /* it never had one of its own */
	uint64_t stored; /* bytes of the closed file */
};

/*
 * Opens the trace as record_output_create does; "-" is standard output, which from then on is standard error for this
 * process and what it starts.
 */
int record_output_open(struct record_output *output, const char *path, bool force,
		       const struct ptl_writer_options *options);
/* The same for memory, whose descriptor has this path in /proc. */
int record_output_open_memory(struct record_output *output, const char *path, const struct ptl_writer_options *options);
/* Closes the file; 0 or the first failure of writing. */
int record_output_close(struct record_output *output);
/* Nothing was recorded after all: closes the file, and removes it if it is one that was made. */
void record_output_discard(struct record_output *output);

/* What ptl_writer_* returned: a failure to write is noted and becomes 0. */
int record_output_check(struct record_output *output, int status);

/* Looks whether the file still has a name, and says so once if not. */
void record_output_look(struct record_output *output);

#endif
