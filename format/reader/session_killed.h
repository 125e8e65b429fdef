/* SPDX-License-Identifier: BSD-2-Clause */
/* The files that a killed session left after the last file read. */
#ifndef FORMAT_READER_SESSION_KILLED_H
#define FORMAT_READER_SESSION_KILLED_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialised: not searched yet. */
struct format_session_killed {
	char *stem, *suffix; /* parts of the files' names */
	uint64_t *numbers;   /* numbers of the existing files, ascending */
	size_t count, next;
	uint64_t start_time; /* identity of the recording: start time ... */
	char boot_id[37];    /* ... and boot, since times count from the boot */
};

/*
 * Searches the remaining files. path and fd belong to the file with this number. count is 0 if no files remain, or the
 * path is no file of a series. PTL_NO_MEMORY.
 */
int format_session_killed_find(struct format_session_killed *left, const char *path, int fd, uint64_t number);
/* Opens the next file: *fd, its number, and its path in new memory. *fd is -1 if no file is left. PTL_NO_MEMORY. */
int format_session_killed_next(struct format_session_killed *left, uint64_t *number, int *fd, char **path);
void format_session_killed_free(struct format_session_killed *left);

#endif
