/* SPDX-License-Identifier: BSD-2-Clause */
/* The trace of a named session of ptl-record, file by file. */
#ifndef FORMAT_READER_SESSION_FILES_H
#define FORMAT_READER_SESSION_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/event.h>

#include "common/hash_map.h"
#include "common/session/session_ask.h"
#include "format/reader/session_killed.h"

struct format_session_files {
	const char *session;
	struct common_session_wait wait; /* callback while the recorder does not answer */
	uint64_t number;                 /* number of the last returned file; 0: none */
	uint64_t files;                  /* number of files returned */
	uint64_t missed; /* events lost before they could be read, so far; complete once the session is over */
	/* After the session: why it is unknown whether everything was read, for the reader; otherwise empty. */
	char doubt[400];
	bool killed; /* the session was killed; its remaining files are searched */
	/* Question which files are left at the session's end, and its answer. */
	bool question_sent, over;
	int connection; /* -1: the session does not answer the question, or has answered */
	struct common_session_answer rest;
	struct format_session_killed left; /* files left by a killed session */
	char *path; /* path of the last returned file, and a duplicate of its descriptor; NULL, -1: none */
	int fd;
	int wait_result; /* result other than 0 that ended a wait */
	/* Keys of process events in the preceding file and in this file, of which the next file repeats some. */
	struct common_hash_map before, seen;
};

/*
 * Opens the file that the session currently writes, and in later calls the next file: *fd, and its path in new memory.
 * *fd = -1: the session is over, and all remaining files were returned. PTL_NOT_FOUND: no such session; PTL_MISUSE,
 * PTL_SYSTEM, PTL_NO_MEMORY; the result of wait().
 */
int format_session_files_next(struct format_session_files *files, int *fd, char **path);
/*
 * As format_session_files_next for the first file of a program. An unknown session is PTL_SYSTEM, like a missing file;
 * the text names the command that lists sessions.
 */
int format_session_files_begin(struct format_session_files *files, int *fd, char **path);
void format_session_files_free(struct format_session_files *files);

/* Whether an event was in a file read before: 1 or 0. PTL_NO_MEMORY. */
int format_session_files_repeat(struct format_session_files *files, const struct ptl_event *event);

#endif
