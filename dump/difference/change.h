/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines that a change added or modified, read from a unified diff of diff -u or git. */
#ifndef DUMP_DIFFERENCE_CHANGE_H
#define DUMP_DIFFERENCE_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dump_changed_file {
	char *path;          /* new path, as in the diff; owned */
	bool is_met;         /* dump_changes_file matched this file */
	size_t first, count; /* index of the first span; number of spans */
};

struct dump_changed_span {
	uint32_t first, last; /* line numbers, both inclusive */
};

struct dump_changes {
	struct dump_changed_file *files;
	struct dump_changed_span *spans; /* grouped by file, sorted by line */
	size_t file_count, span_count;
};

/*
 * Parses the text of a diff. name: what messages call the text. Returns PTL_CORRUPT with the line if the text is no
 * diff, or PTL_NO_MEMORY.
 */
int dump_changes_parse(struct dump_changes *changes, const char *name, const char *text, size_t size);
/*
 * Reads the argument of the option: a file with a diff ("-": standard input). If no such file exists, `git diff` is run
 * with the argument as a revision or range.
 */
int dump_changes_read(struct dump_changes *changes, const char *text);
void dump_changes_free(struct dump_changes *changes);

/*
 * Whether the source path is a changed file: the path ends with the diff's path, with or without the diff's first
 * folder ("b/").
 */
bool dump_changes_file(struct dump_changes *changes, const char *path);
/* Whether the change added or modified this line of the source path. */
bool dump_changes_line(const struct dump_changes *changes, const char *path, uint32_t line);

#endif
