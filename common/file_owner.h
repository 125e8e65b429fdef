/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose files an output may be written to: another user may have put a FIFO or a link where the output is to go. */
#ifndef COMMON_FILE_OWNER_H
#define COMMON_FILE_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/* The folder of a path, with a slash behind it, or "."; the caller frees it. NULL: no memory. */
char *common_file_folder(const char *path);
/* Whether nobody but this user, and root, can have put a file there that belongs to this owner. */
bool common_file_is_trusted(uid_t owner);
/* Whether the descriptor is a pipe without a name, as "/dev/stdout" is: only who has started this process can have made the pipe. */
bool common_file_is_anonymous(int fd);
/* PTL_SYSTEM: the path is a link of another user in a folder like /tmp. fs.protected_symlinks does the same, but may be off. */
int common_file_check_link(const char *path);
/* PTL_SYSTEM: the path is a link of another user, wherever the link is. For files that are replaced. *is_link: the path is a link. */
int common_file_check_own_link(const char *path, bool *is_link);
/* Fails with PTL_SYSTEM: the file belongs to this user. */
int common_file_refuse_foreign(const char *path, uid_t owner);

#endif
