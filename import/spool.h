/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace in an unnamed temporary file. Inputs of other formats are first made one, so that everything else knows
 * trace files only.
 */
#ifndef IMPORT_SPOOL_H
#define IMPORT_SPOOL_H

#include <stdbool.h>

#include <ptl/relogger.h>
#include <ptl/trace.h>
#include <ptl/writer.h>

struct import_spool {
	struct ptl_writer *writer; /* filled by the converter */
	int fd;
	enum ptl_hash_kind hash_kind;         /* of the origins */
	struct ptl_provenance_input *origins; /* files that it was made of; the names are the caller's */
	size_t origin_count;
	bool damaged; /* what it was made of could not be read whole */
};

/* Opens an empty trace in $TMPDIR (/tmp). PTL_SYSTEM, PTL_NO_MEMORY. */
int import_spool_open(struct import_spool *spool, enum ptl_hash_kind hash_kind);
/*
 * Copies what a pipe brings, to its end, to an unnamed file in $TMPDIR (/tmp): *fd, which the caller closes; -1 on
 * failure. With follow, the first signal is taken as meant for who writes to the pipe, and the second ends the reading.
 * PTL_SYSTEM, PTL_NO_MEMORY, PTL_CANCELLED.
 */
int import_spool_pipe(int pipe, bool follow, int *fd);
/* Adds a file that the trace is made of; its name is kept by pointer. PTL_NO_MEMORY. */
int import_spool_origin(struct import_spool *spool, const struct ptl_provenance_input *origin);
/* The same of a file that fd is open for: its size, and its hash if one is wanted. PTL_NO_MEMORY, PTL_SYSTEM, PTL_CANCELLED. */
int import_spool_origin_file(struct import_spool *spool, const char *path, int fd);
/* Closes the trace and makes it an input of the relogger, called name in messages. Frees the spool in any case. */
int import_spool_add(struct import_spool *spool, struct ptl_relogger *relogger, const char *name);
/* Closes the trace: *fd is its file, which is the caller's. What ptl_writer_close returns. */
int import_spool_take(struct import_spool *spool, int *fd);
/* Gives up. Harmless after import_spool_add. */
void import_spool_free(struct import_spool *spool);

#endif
