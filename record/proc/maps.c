/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads /proc/PID/maps. */

#include "record/proc/maps.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DELETED " (deleted)"
#define LINE_FEED "\\012"
#define VDSO "[vdso]"

bool record_maps_name(struct record_map_entry *entry, const char *name, size_t length)
{
	if (length >= sizeof(entry->path))
		return false;
	entry->path[0] = 0;
	/* Other texts name memory without a file, such as [heap]. */
	if (entry->inode == 0) {
		entry->of_kernel = length == strlen(VDSO) && !memcmp(name, VDSO, length);
		return true;
	}
	memcpy(entry->path, name, length);
	entry->path[length] = 0;
	if (length > strlen(DELETED) && !strcmp(entry->path + length - strlen(DELETED), DELETED)) {
		entry->path[length - strlen(DELETED)] = 0;
		entry->deleted = true;
	}
	if (!strncmp(entry->path, "/memfd:", 7))
		entry->deleted = true;
	return true;
}

bool record_maps_parse(const char *line, struct record_map_entry *entry)
{
	unsigned long long base, end, offset, inode;
	unsigned major_number, minor_number;
	char protection[5];
	int path_at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &base, &end, protection, &offset, &major_number,
		   &minor_number, &inode, &path_at) < 7 ||
	    !path_at || strlen(protection) != 4)
		return false;

	*entry = (struct record_map_entry){
		.base = base,
		.end = end,
		.file_offset = offset,
		.device = makedev(major_number, minor_number),
		.inode = inode,
		.writable = protection[1] == 'w',
		.executable = protection[2] == 'x',
		.shared = protection[3] == 's',
	};
	return record_maps_name(entry, line + path_at, strcspn(line + path_at, "\n"));
}

static bool is_file(const char *root, const char *name, struct record_map_entry *entry)
{
	char path[2 * RECORD_PATH_SIZE];
	struct stat status;

	snprintf(path, sizeof(path), "%s%s", root, name);
	if (stat(path, &status) || status.st_ino != entry->inode)
		return false;
	entry->device = status.st_dev;
	return true;
}

/*
 * For a recorder inside a chroot, the kernel begins the path of a file in another mount namespace above the chroot.
 * Removes the directories above the chroot from such a path. Small inode numbers repeat, so the device has to match too.
 */
static bool remove_directories_above_root(const char *root, struct record_map_entry *entry)
{
	const uint64_t device = entry->device;

	for (const char *rest = strchr(entry->path, '/'); rest; rest = strchr(rest + 1, '/'))
		if (is_file(root, rest, entry) && entry->device == device) {
			memmove(entry->path, rest, strlen(rest) + 1);
			return true;
		}
	entry->device = device;
	return false;
}

/* Replaces the kernel's escape for line feeds, the only escape. Returns true after a replacement. */
static bool read_line_feeds(const char *name, char path[RECORD_PATH_SIZE])
{
	const size_t size = strlen(LINE_FEED);
	const char *next;
	bool found = false;

	for (*path = 0; (next = strstr(name, LINE_FEED)); name = next + size, found = true) {
		strncat(path, name, (size_t)(next - name));
		strcat(path, "\n");
	}
	strcat(path, name);
	return found;
}

void record_maps_check(const char *root, struct record_map_entry *entry)
{
	char path[RECORD_PATH_SIZE];

	if (!entry->inode || entry->deleted || is_file(root, entry->path, entry))
		return;
	if (read_line_feeds(entry->path, path) && is_file(root, path, entry))
		snprintf(entry->path, sizeof(entry->path), "%s", path);
	else if (!remove_directories_above_root(root, entry))
		entry->deleted = true;
}

void record_maps_open(struct record_maps *maps, uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	*maps = (struct record_maps){.file = fopen(path, "re")};
}

bool record_maps_next(struct record_maps *maps, struct record_map_entry *entry)
{
	while (maps->file && getline(&maps->line, &maps->room, maps->file) >= 0)
		if (record_maps_parse(maps->line, entry))
			return true;
	return false;
}

void record_maps_close(struct record_maps *maps)
{
	if (maps->file)
		fclose(maps->file);
	free(maps->line);
	*maps = (struct record_maps){0};
}

bool record_maps_find(uint32_t pid, const struct stat *file, uint64_t address, struct record_map_entry *entry)
{
	struct record_maps maps;
	bool found = false;

	record_maps_open(&maps, pid);
	while (!found && record_maps_next(&maps, entry))
		found = entry->base >= address && entry->inode == file->st_ino && entry->device == file->st_dev;
	record_maps_close(&maps);
	return found;
}
