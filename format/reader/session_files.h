/* SPDX-License-Identifier: BSD-2-Clause */
/* The trace of a named session of ptl-record, from file to file. */
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
	struct common_session_wait wait; /* while its recorder does not answer */
	uint64_t number;                 /* of the file that was given last; 0: none */
	uint64_t files;                  /* that were given */
	uint64_t missed; /* events that were gone before they were read, so far; once the session is over, all */
	/* Once the session is over, why it is not known whether that is all, for who looks on; else empty. */
	char doubt[400];
	bool killed; /* which is why; the files that it left are looked for */
	/* By which the session says at its end which files are left, and what it said. */
	bool asked, over;
	int connection; /* -1: it does not say that, or has */
	struct common_session_answer rest;
	struct format_session_killed left; /* of one that was killed */
	char *path; /* of the file that was given last, and another descriptor of it; NULL, -1: none */
	int fd;
	int wait_result; /* other than 0: what ended a wait */
	/* Events of processes that the file before and this one have: the next one has some of them again. */
	struct common_hash_map before, seen;
};

/*
 * Opens the file that the session writes now, or, the next times, the one behind the last one: *fd, with its path in fresh memory. *fd is
 * -1 where there is none any more: the session is over, and what is left of it was given. PTL_NOT_FOUND: there is no such session;
 * PTL_MISUSE, PTL_SYSTEM, PTL_NO_MEMORY; what wait returned.
 */
int format_session_files_next(struct format_session_files *files, int *fd, char **path);
/*
 * The first time, for a program: one that is not there is PTL_SYSTEM, as a file that is not, with what lists the others.
 */
int format_session_files_begin(struct format_session_files *files, int *fd, char **path);
void format_session_files_free(struct format_session_files *files);

/* Whether the event is in a file that was read before: 1 or 0. PTL_NO_MEMORY. */
int format_session_files_repeat(struct format_session_files *files, const struct ptl_event *event);

#endif
