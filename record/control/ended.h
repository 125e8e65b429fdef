/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of a session that ended when nobody waited for its end, or was killed: a file beside the sockets, from when it begins until
 * it was stopped, or, where it was not, until the next session of its name begins or stop has said it. There are at most as many as there
 * can be sessions.
 */
#ifndef RECORD_CONTROL_ENDED_H
#define RECORD_CONTROL_ENDED_H

#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

#define RECORD_ENDED_MAX 16384u /* bytes of such a file; a path has at most 4096 */

struct record_ended {
	int64_t time;         /* nanoseconds since 1970 */
	const char *why;      /* "": it goes on, or was killed */
	const char *file;     /* the last one, absolute; "": there is none */
	const char *messages; /* what the recorder said, lines */
	/* Of several files: what their names begin and end with, and when the first one was made. Else "". */
	const char *stem, *suffix;
	int64_t begun; /* nanoseconds since 1970, by the clock of files */
};

/* Where it cannot be written, nothing says that the session was there. */
void record_ended_write(int folder, const char *name, const struct record_ended *ended);
/* The texts are in `memory`. PTL_NOT_FOUND: there is none, or none that makes sense. */
int record_ended_read(int folder, const char *name, struct record_ended *ended, char memory[RECORD_ENDED_MAX]);
/* Makes that of a session that was killed what is known by now: why, and when it wrote last. */
void record_ended_killed(struct record_ended *ended);
void record_ended_forget(int folder, const char *name);
/*
 * The numbers of the files that are left, where it had several, ascending in fresh memory (common/session/series.h). Those of a session before it
 * are not among them.
 */
int record_ended_files(const struct record_ended *ended, uint64_t **numbers, size_t *count);
/* Adds which files there are, as in "its file is /tmp/a.ptl". */
int record_ended_describe(const struct record_ended *ended, struct ptl_bytes *text);
/* Calls visit with the name of each, by name, until it fails. */
int record_ended_list(int folder, int (*visit)(void *context, const char *name), void *context);

#endif
