/* SPDX-License-Identifier: BSD-2-Clause */
/* Files: an output that appears whole or not at all, whole reads with a bound, full writes. */
#ifndef COMMON_FILE_H
#define COMMON_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * An output under a temporary name in the target's folder, renamed on commit. Without force an
 * existing target is an error at open and again at commit, never overwritten. A target that is a
 * pipe or a device is written to as it is. Only its owner can read it: a trace holds code and command lines.
 */
struct common_output_file {
	int fd;          /* -1 while not open: the initial value */
	char *path;      /* owned */
	char *temporary; /* owned; NULL for a pipe or a device, and for a file that has no name yet */
	bool unnamed;    /* the file has no name yet: a process that is killed leaves nothing */
	bool wants_no_name;
	bool force;
	bool sync; /* commit waits for the disk; open sets it where a file is replaced, and the caller may */
};

/* PTL_SYSTEM (with errno's text; "exists" names --force as the remedy), also where the target is being recorded. */
int common_output_open(struct common_output_file *output, const char *path, bool force);
/* The same, but the file has no name before commit, if the file system has such files. */
int common_output_open_unnamed(struct common_output_file *output, const char *path, bool force);
/*
 * Renames, with sync only when all of it is on disk: who replaces a file has something to lose, while a new one is as
 * safe as what cp leaves. On failure the temporary file is removed. Closes in both cases.
 */
int common_output_commit(struct common_output_file *output);
/* Removes the temporary file and closes. Harmless after commit. */
void common_output_abandon(struct common_output_file *output);

/* A file that is written under its name is locked until it is closed, where the file system has locks. It is new, and nobody else's. */
void common_file_lock_recorded(int fd);
/*
 * PTL_SYSTEM where the path is a file that is locked so: what is written must not go to one that has no name any more. A symbolic
 * link is none.
 */
int common_file_check_recorded(const char *path);

/* Writes all of it, going on after short writes and EINTR; PTL_SYSTEM. */
int common_write_all(int fd, const void *data, size_t size);
/* Waits until a file's content is on disk, where the file system can; PTL_SYSTEM. */
int common_sync_file(const char *path);
/* Reads exactly size bytes at offset; PTL_TRUNCATED, PTL_SYSTEM. */
int common_read_at(int fd, void *data, size_t size, uint64_t offset);
/*
 * Opens a regular file for reading whose name comes from elsewhere: it is looked at before it is opened, as
 * to open a device may do something. The descriptor, close-on-exec, and *info; -1 for anything else.
 */
int common_open_regular(const char *path, struct stat *info);
/*
 * The whole of a file or pipe in fresh memory (caller frees), with a zero byte behind it that size does not count; past limit
 * bytes: PTL_NO_MEMORY.
 */
int common_read_file(const char *path, size_t limit, uint8_t **data, size_t *size);

/*
 * Whether a process has the file, which is open for reading alone, open for writing; true where the system does not say. Who
 * opens it at that very moment waits no longer than this takes.
 */
bool common_file_has_writer(int fd);

/* An open file that has no name, in $TMPDIR (/tmp). PTL_SYSTEM. */
int common_open_temporary(int *fd);
/* Writes all of it there. PTL_SYSTEM. */
int common_write_temporary(int fd, const uint8_t *data, size_t size, uint64_t offset);

#endif
