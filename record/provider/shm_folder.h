/* SPDX-License-Identifier: BSD-2-Clause */
/* The session folder: docs/providers.md, "The folder". */
#ifndef RECORD_PROVIDER_SHM_FOLDER_H
#define RECORD_PROVIDER_SHM_FOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define RECORD_SHM_PATH_SIZE 4096

/*
 * Opens the folder, and makes it if it is not there and `make`. path (RECORD_SHM_PATH_SIZE bytes)
 * gets its name, whatever comes of it. PTL_NOT_FOUND: there is none; PTL_SYSTEM: it is another's, or
 * others may do something in it.
 */
int record_shm_open(bool make, char *path, int *folder);

/* The folder of another user, for root: PTL_NOT_FOUND where there is none, or none that is that user's alone. */
int record_shm_open_user(uint32_t user, char *path, int *folder);
/* Where the folders of users are. */
#define RECORD_SHM_PARENT "/dev/shm"
/* Which user an entry of RECORD_SHM_PARENT is for; false: it is none of these folders. */
bool record_shm_parse_user(const char *text, uint32_t *user);
/* Whether this process sees the programs of all users: it is root, and no other folder was named. */
bool record_shm_sees_all(void);
/* Calls visit with each other user for whom there is a folder, until it returns a value other than 0, and returns that. */
int record_shm_users(int (*visit)(void *context, uint32_t user), void *context);

enum record_shm_kind {
	RECORD_SHM_OTHER,
	RECORD_SHM_SESSION,
	RECORD_SHM_PROCESS,
	RECORD_SHM_RINGS,
	RECORD_SHM_NEW, /* not complete yet, or litter */
};

/* What a file's name says. */
struct record_shm_name {
	enum record_shm_kind kind;
	unsigned slot;    /* SESSION */
	uint32_t pid;     /* PROCESS and RINGS */
	uint64_t process; /* likewise */
	uint64_t session; /* RINGS */
};

void record_shm_parse(const char *text, struct record_shm_name *name);

/*
 * Opens a file with these flags of open(2); -1 unless it is a regular file of the folder's user that nobody
 * else may touch.
 */
int record_shm_open_file(int folder, const char *name, int flags, struct stat *info);

/*
 * Calls visit with each file of the folder until it returns a value other than 0, and returns that. Of another user's
 * folder no more than so many are looked at: there may be any number.
 */
#define RECORD_SHM_ENTRIES_MAX 4096
int record_shm_list(int folder, int (*visit)(void *context, const char *text, const struct record_shm_name *name),
		    void *context);

/*
 * Whether the process that made this `process` file, whose status is info, has ended: docs/
 * providers.md, "Life cycle". For a pid of our own pid namespace.
 */
bool record_shm_has_ended(uint32_t pid, const struct stat *info);

#endif
