/* SPDX-License-Identifier: BSD-2-Clause */
/* The files that a session has left which was killed, behind the one that was read last. */
#ifndef FORMAT_READER_SESSION_KILLED_H
#define FORMAT_READER_SESSION_KILLED_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialised: not looked for so far. */
struct format_session_killed {
	char *stem, *suffix; /* of the files' names */
	uint64_t *numbers;   /* of those that are there, ascending */
	size_t count, next;
	uint64_t start_time; /* by which all files of one recording are known, */
	char boot_id[37];    /* since all times count from there */
};

/* Looks for them: path and fd are of the file of this number. Where there are none, or it is none of a series, count is 0. PTL_NO_MEMORY. */
int format_session_killed_find(struct format_session_killed *left, const char *path, int fd, uint64_t number);
/* Opens the next one: *fd, its number, and its path in fresh memory; *fd is -1 where there is none any more. PTL_NO_MEMORY. */
int format_session_killed_next(struct format_session_killed *left, uint64_t *number, int *fd, char **path);
void format_session_killed_free(struct format_session_killed *left);

#endif
