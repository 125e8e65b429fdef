/* SPDX-License-Identifier: BSD-2-Clause */
/* The session folder: docs/providers.md, "The folder". */
#ifndef RECORD_PROVIDER_SHM_FOLDER_H
#define RECORD_PROVIDER_SHM_FOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define RECORD_SHM_PATH_SIZE 4096

/*
 * Opens the folder. make: creates a missing folder. path (RECORD_SHM_PATH_SIZE bytes): always set to the name. Fails
 * with PTL_NOT_FOUND if missing; PTL_SYSTEM if the folder belongs to another user, or if others have access.
 */
int record_shm_open(bool make, char *path, int *folder);

/* Opens the folder of another user, for root. Fails with PTL_NOT_FOUND if missing, or if others have access. */
int record_shm_open_user(uint32_t user, char *path, int *folder);
/* Parent of all users' folders. */
#define RECORD_SHM_PARENT "/dev/shm"
/* Finds the user of an entry of RECORD_SHM_PARENT. Returns false if the entry is no such folder. */
bool record_shm_parse_user(const char *text, uint32_t *user);
/* Checks whether this process records programs of all users: root, without another folder by name. */
bool record_shm_sees_all(void);
/* Calls visit with each other user with a folder. Stops at the first result other than 0, and returns the result. */
int record_shm_users(int (*visit)(void *context, uint32_t user), void *context);

enum record_shm_kind {
	RECORD_SHM_OTHER,
	RECORD_SHM_SESSION,
	RECORD_SHM_PROCESS,
	RECORD_SHM_RINGS,
	RECORD_SHM_NEW, /* incomplete or left over */
};

/* Parsed name of a file. */
struct record_shm_name {
	enum record_shm_kind kind;
	unsigned slot;    /* SESSION */
	uint32_t pid;     /* PROCESS and RINGS */
	uint64_t process; /* PROCESS and RINGS */
	uint64_t session; /* RINGS */
};

void record_shm_parse(const char *text, struct record_shm_name *name);

/*
 * Opens a file with these flags of open(2). Returns -1 unless the file is regular, belongs to the folder's user, and
 * permits no access to others.
 */
int record_shm_open_file(int folder, const char *name, int flags, struct stat *info);

/*
 * Calls visit with each file of the folder. Stops at the first result other than 0, and returns the result. Visits at
 * most RECORD_SHM_ENTRIES_MAX files in the folder of another user.
 */
#define RECORD_SHM_ENTRIES_MAX 4096
int record_shm_list(int folder, int (*visit)(void *context, const char *text, const struct record_shm_name *name),
		    void *context);

/*
 * Checks whether the process of a `process` file with status info has ended: docs/providers.md, "Life cycle". The pid
 * is from this pid namespace.
 */
bool record_shm_has_ended(uint32_t pid, const struct stat *info);

#endif
