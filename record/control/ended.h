/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The record of a session that ended by itself or was killed: a file beside the sockets. The file exists from the
 * session's start until a stop; after an end without a stop, until the next session of the name starts or `stop` reads
 * the file. The number of files is limited, like the number of sessions.
 */
#ifndef RECORD_CONTROL_ENDED_H
#define RECORD_CONTROL_ENDED_H

#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

#define RECORD_ENDED_MAX 16384u /* maximum bytes of the file; a path has at most 4096 */

struct record_ended {
	int64_t time;         /* nanoseconds since 1970 */
	const char *why;      /* "" for a running or killed session */
	const char *file;     /* absolute path of the last file; "" without */
	const char *messages; /* lines that the recorder printed */
	/*
	 * Of a series of files only: beginning and end of the names, and creation time of the first file. "" otherwise.
	 */
	const char *stem, *suffix;
	int64_t begun; /* nanoseconds since 1970, by the clock of file times */
};

/* Writes the record. A failed write leaves the session unknown after its end. */
void record_ended_write(int folder, const char *name, const struct record_ended *ended);
/* Reads the record; the texts lie in `memory`. Fails with PTL_NOT_FOUND if the record is missing or invalid. */
int record_ended_read(int folder, const char *name, struct record_ended *ended, char memory[RECORD_ENDED_MAX]);
/* Fills in the record of a killed session: the cause, and the time of its last write. */
void record_ended_killed(struct record_ended *ended);
void record_ended_forget(int folder, const char *name);
/*
 * Finds the remaining files of a series, and returns their numbers ascending in fresh memory (common/session/series.h).
 * Excludes files of an earlier session.
 */
int record_ended_files(const struct record_ended *ended, uint64_t **numbers, size_t *count);
/* Appends a description of the remaining files, such as "its file is /tmp/a.ptl". */
int record_ended_describe(const struct record_ended *ended, struct ptl_bytes *text);
/* Calls visit with the name of each session, sorted by name, until visit fails. */
int record_ended_list(int folder, int (*visit)(void *context, const char *name), void *context);

#endif
