/* SPDX-License-Identifier: BSD-2-Clause */
/* Files: atomic output (a file appears whole or not at all), reads of whole files up to a limit, complete writes. */
#ifndef COMMON_FILE_H
#define COMMON_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * An output file. The content goes to a temporary file in the target's folder, and commit renames the temporary file.
 * Without `force`, an existing target is an error at open and again at commit; the target is never overwritten.
 * A pipe or a device as the target is written to directly. The file is readable by its owner only, because a trace
 * contains code and command lines.
 */
struct common_output_file {
	int fd;          /* -1 if not open (initial value) */
	char *path;      /* owned */
	char *temporary; /* owned; NULL for a pipe or a device, and for a file without a name */
	bool unnamed;    /* the file has no name yet, so a killed process leaves no file behind */
	bool wants_no_name;
	bool force;
	bool sync;          /* commit waits for the disk; set by open if a file is replaced, and by callers */
	const char *option; /* option that names the output, for messages; NULL: -o */
};

/*
 * Opens an output. PTL_SYSTEM with errno's text. An existing target is PTL_SYSTEM, too (the text names --force as the
 * remedy), and so is a target that is being recorded.
 */
int common_output_open(struct common_output_file *output, const char *path, bool force);
/* As common_output_open, for the output of another option than -o. The option's name must outlive the output. */
int common_output_open_of(struct common_output_file *output, const char *path, bool force, const char *option);
/* As common_output_open, but the file gets its name only at commit, if the file system supports unnamed files. */
int common_output_open_unnamed(struct common_output_file *output, const char *path, bool force);
/*
 * Renames the temporary file to the target and closes the output. With `sync`, waits first until the content is on
 * disk: a replaced file would be lost in a crash, while a new file is as safe as a file copied by cp. On failure the
 * temporary file is removed, and the output is closed, too.
 */
int common_output_commit(struct common_output_file *output);
/* Closes the output and removes the temporary file. Harmless after commit. */
void common_output_abandon(struct common_output_file *output);

/*
 * Locks a new file that is written under its final name, until the file is closed. No effect if the file system has no
 * locks.
 */
void common_file_lock_recorded(int fd);
/* Renames a file, and replaces no existing file. Returns -1 with errno, as rename(2). */
int common_rename_new(const char *from, const char *to);
/*
 * Checks that `path` is not a file locked by common_file_lock_recorded. PTL_SYSTEM if locked: replacing the file would
 * leave its recorder writing to a file without a name. A symbolic link is not followed and counts as unlocked.
 */
int common_file_check_recorded(const char *path);

/* Writes all `size` bytes; continues after short writes and EINTR. PTL_SYSTEM. */
int common_write_all(int fd, const void *data, size_t size);
/* Waits until the file's content is on disk, if the file system supports fsync. PTL_SYSTEM. */
int common_sync_file(const char *path);
/* Reads exactly `size` bytes at `offset`. PTL_TRUNCATED, PTL_SYSTEM. */
int common_read_at(int fd, void *data, size_t size, uint64_t offset);
/*
 * Opens a regular file for reading, for paths from untrusted sources. Checks the file type before the open, as opening
 * a device may have side effects. Returns a close-on-exec descriptor and sets *info; -1 for any other file type or an
 * error.
 */
int common_open_regular(const char *path, struct stat *info);
/*
 * Reads a whole file or pipe into new memory, which the caller frees. A zero byte, not counted in *size, follows the
 * content. PTL_NO_MEMORY for more than `limit` bytes; PTL_SYSTEM.
 */
int common_read_file(const char *path, size_t limit, uint8_t **data, size_t *size);

/*
 * Whether any process has the file open for writing. fd must be open for reading only. Returns true if the system
 * cannot tell. A process that opens the file meanwhile waits no longer than this function runs.
 */
bool common_file_has_writer(int fd);

/* Opens a file without a name in $TMPDIR (default /tmp). PTL_SYSTEM. */
int common_open_temporary(int *fd);
/* Writes all `size` bytes at `offset` of a temporary file. PTL_SYSTEM. */
int common_write_temporary(int fd, const uint8_t *data, size_t size, uint64_t offset);

#endif
