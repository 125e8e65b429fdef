/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading /proc/PID/maps: of the recorder, and of the QEMU plugin in the programs that it traces. */

#ifndef RECORD_PROCESS_MAPS_H
#define RECORD_PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest path, its zero included. */
#define RECORD_PATH_SIZE 4096u

struct record_map_entry {
	uint64_t base;
	uint64_t end;
	uint64_t file_offset;
	uint64_t device; /* as stat shows it where the path still names the file, else as the kernel
			    shows it */
	uint64_t inode;
	bool shared;
	bool writable;
	bool executable;
	bool deleted;
	char path[RECORD_PATH_SIZE]; /* empty for anonymous memory */
};

/* Parses one line of /proc/<pid>/maps. False if it is none. Does not look at the file. */
bool record_maps_parse(const char *line, struct record_map_entry *entry);

/* The name that the kernel shows for the entry's mapping, whose inode is set: a path, or one that says that it is gone.
 * What is no path leaves the entry's path empty. False if it is too long. */
bool record_maps_name(struct record_map_entry *entry, const char *name, size_t length);

/* Does the path still lead to the file that is mapped? Some file systems show another device number
 * there. A line feed in the path is one again. root is the process's root directory ("" for one's own). */
void record_maps_check(const char *root, struct record_map_entry *entry);

/* The mapping of this process that holds the address. False if there is none. */
bool record_maps_find(uint64_t address, struct record_map_entry *entry);

#endif
