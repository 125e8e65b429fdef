/* SPDX-License-Identifier: BSD-2-Clause */
/* Ownership checks of output paths: another user may have put a FIFO or a link at the output's path. */
#ifndef COMMON_FILE_OWNER_H
#define COMMON_FILE_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/* Returns the folder of a path with a trailing slash, or "."; the caller frees the text. NULL without memory. */
char *common_file_folder(const char *path);
/* Whether `owner` is this user or root, so that no other user created the file. */
bool common_file_is_trusted(uid_t owner);
/*
 * Whether the descriptor is an unnamed pipe, as /dev/stdout may be. Only the process that started this one can have
 * made such a pipe.
 */
bool common_file_is_anonymous(int fd);
/*
 * Refuses a link of another user in a world-writable sticky folder such as /tmp: PTL_SYSTEM. fs.protected_symlinks does
 * the same, but may be disabled.
 */
int common_file_check_link(const char *path);
/*
 * Refuses a link of another user (except root) in any folder: PTL_SYSTEM. Used for files that are replaced. *is_link:
 * whether the path is a link.
 */
int common_file_check_own_link(const char *path, bool *is_link);
/* Fails with PTL_SYSTEM: the file belongs to the user `owner`. */
int common_file_refuse_foreign(const char *path, uid_t owner);

#endif
