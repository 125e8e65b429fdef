/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading /proc/PID/maps. */

#include "record/process/maps.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DELETED " (deleted)"
#define LINE_FEED "\\012"

bool record_maps_name(struct record_map_entry *entry, const char *name, size_t length)
{
	if (length >= sizeof(entry->path))
		return false;
	entry->path[0] = 0;
	/* What is no path is a name for anonymous memory, like [heap]. */
	if (entry->inode == 0)
		return true;
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

/* The kernel shows line feeds so, and nothing else; whether there was one. */
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
	else
		entry->deleted = true;
}

/* The file may change while it is read; the line that holds the address is one the kernel made at
 * once. */
bool record_maps_find(uint64_t address, struct record_map_entry *entry)
{
	char line[RECORD_PATH_SIZE + 128];
	FILE *file = fopen("/proc/self/maps", "re");
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = record_maps_parse(line, entry) && address >= entry->base && address < entry->end;
	fclose(file);
	if (found)
		record_maps_check("", entry);
	return found;
}
