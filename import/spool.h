/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace in an unnamed temporary file. Inputs of foreign formats are converted to such a trace first, so that all
 * other code handles trace files only.
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
	enum ptl_hash_kind hash_kind;         /* hash of the origins */
	struct ptl_provenance_input *origins; /* files that the trace was made of; names are the caller's */
	size_t origin_count;
	size_t further; /* further inputs of the command line that the trace was made of, too */
	bool damaged;   /* some input data could not be read */
};

/* Opens an empty trace in $TMPDIR (default /tmp). Returns PTL_SYSTEM, PTL_NO_MEMORY. */
int import_spool_open(struct import_spool *spool, enum ptl_hash_kind hash_kind);
/*
 * Copies data of a pipe up to its end to an unnamed file in $TMPDIR (default /tmp). *fd: the file, which the caller
 * closes; -1 on failure. follow: ignore the first signal, which is meant for the pipe's writer; the second signal ends
 * the copy. Returns PTL_SYSTEM, PTL_NO_MEMORY, PTL_CANCELLED.
 */
int import_spool_pipe(int pipe, bool follow, int *fd);
/* Adds a file that the trace is made of. Keeps the pointer to the name. Returns PTL_NO_MEMORY. */
int import_spool_origin(struct import_spool *spool, const struct ptl_provenance_input *origin);
/*
 * As import_spool_origin, for an open file: determines size and, if wanted, hash. Returns PTL_NO_MEMORY, PTL_SYSTEM,
 * PTL_CANCELLED.
 */
int import_spool_origin_file(struct import_spool *spool, const char *path, int fd);
/* Closes the trace and adds the trace to the relogger. name: for messages. Frees the spool in any case. */
int import_spool_add(struct import_spool *spool, struct ptl_relogger *relogger, const char *name);
/* Closes the trace. *fd: the trace's file, which becomes the caller's. Returns the errors of ptl_writer_close. */
int import_spool_take(struct import_spool *spool, int *fd);
/* Discards the trace. Does nothing after import_spool_add. */
void import_spool_free(struct import_spool *spool);

#endif
