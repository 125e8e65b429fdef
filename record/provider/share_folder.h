/* SPDX-License-Identifier: BSD-2-Clause */
/* The session folder: docs/providers.md, "The folder". */
#ifndef RECORD_PROVIDER_SHARE_FOLDER_H
#define RECORD_PROVIDER_SHARE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define RECORD_SHARE_PATH_SIZE 4096

/*
 * Opens the folder, and makes it if it is not there and `make`. path (RECORD_SHARE_PATH_SIZE bytes)
 * gets its name, whatever comes of it. PTL_NOT_FOUND: there is none; PTL_SYSTEM: it is another's, or
 * others may do something in it.
 */
int record_share_open(bool make, char *path, int *folder);

enum record_share_kind {
	RECORD_SHARE_OTHER,
	RECORD_SHARE_SESSION,
	RECORD_SHARE_PROCESS,
	RECORD_SHARE_RINGS,
	RECORD_SHARE_NEW, /* not complete yet, or litter */
};

/* What a file's name says. */
struct record_share_name {
	enum record_share_kind kind;
	unsigned slot;    /* SESSION */
	uint32_t pid;     /* PROCESS and RINGS */
	uint64_t process; /* likewise */
	uint64_t session; /* RINGS */
};

void record_share_parse(const char *text, struct record_share_name *name);

/*
 * Opens a file with these flags of open(2); -1 unless it is a regular file of this user that nobody
 * else may touch.
 */
int record_share_open_file(int folder, const char *name, int flags, struct stat *info);

/* Calls visit with each file of the folder until it returns a value other than 0, and returns that. */
int record_share_list(int folder, int (*visit)(void *context, const char *text, const struct record_share_name *name),
		      void *context);

/*
 * Whether the process that made this `process` file, whose status is info, has ended: docs/
 * providers.md, "Life cycle". For a pid of our own pid namespace.
 */
bool record_share_has_ended(uint32_t pid, const struct stat *info);

#endif
