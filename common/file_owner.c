/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/file_owner.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/error.h"

#define PIPEFS_MAGIC 0x50495045

bool common_file_is_trusted(uid_t owner)
{
	return owner == geteuid() || owner == 0;
}

bool common_file_is_anonymous(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) == 0 && system.f_type == PIPEFS_MAGIC;
}

char *common_file_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
}

int common_file_check_link(const char *path)
{
	struct stat link, folder;
	char *parent;
	bool bad;

	if (lstat(path, &link) < 0 || !S_ISLNK(link.st_mode) || link.st_uid == geteuid())
		return 0;
	parent = common_file_folder(path);
	if (!parent)
		return common_fail_memory("file name", strlen(path));
	bad = stat(parent, &folder) < 0 ||
	      ((folder.st_mode & S_ISVTX) && (folder.st_mode & (S_IWGRP | S_IWOTH)) && folder.st_uid != link.st_uid);
	free(parent);
	return bad ? common_fail(PTL_SYSTEM, "%s is a link of user %u in a folder that everybody may write to", path,
				 (unsigned)link.st_uid)
		   : 0;
}

int common_file_check_own_link(const char *path, bool *is_link)
{
	struct stat link;

	*is_link = lstat(path, &link) == 0 && S_ISLNK(link.st_mode);
	return *is_link && !common_file_is_trusted(link.st_uid)
		       ? common_fail(PTL_SYSTEM, "%s is a link of user %u; -o has to name the file itself", path,
				     (unsigned)link.st_uid)
		       : 0;
}

int common_file_refuse_foreign(const char *path, uid_t owner)
{
	return common_fail(PTL_SYSTEM, "%s belongs to user %u; --force with -o writes to it, -o names another", path,
			   (unsigned)owner);
}
