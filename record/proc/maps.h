/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads /proc/PID/maps. */

#ifndef RECORD_PROC_MAPS_H
#define RECORD_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

/* Maximum size of a path, with its zero. */
#define RECORD_PATH_SIZE 4096u

struct record_map_entry {
	uint64_t base;
	uint64_t end;
	uint64_t file_offset;
	uint64_t device; /* as in stat if the path still leads to the file; else as shown by the kernel */
	uint64_t inode;
	bool shared;
	bool writable;
	bool executable;
	bool deleted;
	bool of_kernel;              /* the vdso */
	char path[RECORD_PATH_SIZE]; /* empty for anonymous memory */
};

/* Parses a line of /proc/<pid>/maps, without a look at the file. Returns false if invalid. */
bool record_maps_parse(const char *line, struct record_map_entry *entry);

/*
 * Sets the path of an entry with a known inode to the kernel's name: a path, or a path marked as deleted. Other names
 * leave the path empty. Returns false if the name is too long.
 */
bool record_maps_name(struct record_map_entry *entry, const char *name, size_t length);

/*
 * Checks whether the path still leads to the mapped file. Replaces the device number, which differs in some file
 * systems, and escaped line feeds. root: root directory of the process; "" for this process.
 */
void record_maps_check(const char *root, struct record_map_entry *entry);

/* A walk over the mappings of a process. */
struct record_maps {
	FILE *file; /* NULL: unreadable */
	char *line;
	size_t room;
};

void record_maps_open(struct record_maps *maps, uint32_t pid);

/*
 * Parses the next valid line. Lines are read whole, whatever their length: a part of a file's name may look like a line.
 * Returns false at the end.
 */
bool record_maps_next(struct record_maps *maps, struct record_map_entry *entry);

void record_maps_close(struct record_maps *maps);

/* Finds the first mapping of the file, by device and inode, at or behind the address. */
bool record_maps_find(uint32_t pid, const struct stat *file, uint64_t address, struct record_map_entry *entry);

#endif
