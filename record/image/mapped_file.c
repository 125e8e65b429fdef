/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the file of a mapping, and refuses other files. */
#include "record/image/mapped_file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"

#define NAME_SIZE 8192

/* Opens name if the name is the mapping's regular file. */
static int try(const char *name, const struct record_mapping *mapping, struct stat *info)
{
	const int fd = common_open_regular(name, info);

	if (fd < 0 || (info->st_dev == mapping->device && info->st_ino == mapping->inode))
		return fd;
	close(fd);
	return -1;
}

int record_open_mapped(const struct record_mapping *mapping, struct stat *info)
{
	char name[NAME_SIZE];
	int fd = -1;

	if (mapping->path_length && mapping->path_length < NAME_SIZE / 2 && mapping->path[0] == '/' &&
	    !memchr(mapping->path, 0, mapping->path_length)) {
		const int length = (int)mapping->path_length;

		snprintf(name, sizeof(name), "/proc/%u/root%.*s", mapping->pid, length, mapping->path);
		fd = try(name, mapping, info);
		if (fd >= 0)
			return fd;
		snprintf(name, sizeof(name), "%.*s", length, mapping->path);
		fd = try(name, mapping, info);
		if (fd >= 0)
			return fd;
	}
	snprintf(name, sizeof(name), "/proc/%u/map_files/%llx-%llx", mapping->pid, (unsigned long long)mapping->base,
		 (unsigned long long)(mapping->base + mapping->size));
	return try(name, mapping, info);
}
