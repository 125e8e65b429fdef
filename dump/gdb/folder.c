/* SPDX-License-Identifier: BSD-2-Clause */
/* The temporary folder: makes and removes it, and makes its folders. */
#include "dump/gdb/folder.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/error.h"
#include "common/text/text.h"

int dump_gdb_folder_make(char **folder)
{
	const char *parent = getenv("TMPDIR");

	if (asprintf(folder, "%s/ptl-gdb-XXXXXX", parent && *parent ? parent : "/tmp") < 0) {
		*folder = NULL;
		return common_fail_memory("a path", 0);
	}
	if (mkdtemp(*folder))
		return 0;
	free(*folder);
	*folder = NULL;
	return common_fail_errno("cannot make a temporary folder");
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	remove(path);
	return 0;
}

void dump_gdb_folder_remove(char *folder)
{
	if (folder)
		nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(folder);
}

char *dump_gdb_folder_entry(const char *folder, const char *part, const char *path)
{
	struct ptl_bytes entry = {0};
	char *text;

	common_text_add(&entry, folder);
	common_text_add(&entry, part);
	common_text_add(&entry, path);
	text = entry.failed ? NULL : strdup(common_text_string(&entry));
	for (char *slash = text ? text + strlen(folder) + 1 : NULL; slash; slash = strchr(slash + 1, '/')) {
		if (*slash != '/')
			continue;
		*slash = 0;
		if (mkdir(text, 0700) < 0 && errno != EEXIST)
			break;
		*slash = '/';
	}
	common_bytes_free(&entry);
	return text;
}
