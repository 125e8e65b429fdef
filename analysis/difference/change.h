/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines that a change added or modified, read from a unified diff of diff -u or git. */
#ifndef ANALYSIS_DIFFERENCE_CHANGE_H
#define ANALYSIS_DIFFERENCE_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct analysis_changed_file {
	char *path;          /* new path, as in the diff; owned */
	bool is_met;         /* analysis_changes_file matched this file */
	size_t first, count; /* index of the first span; number of spans */
};

struct analysis_changed_span {
	uint32_t first, last; /* line numbers, both inclusive */
};

struct analysis_changes {
	struct analysis_changed_file *files;
	struct analysis_changed_span *spans; /* grouped by file, sorted by line */
	size_t file_count, span_count;
};

/*
 * Parses the text of a diff. name: what messages call the text. Returns PTL_CORRUPT with the line if the text is no
 * diff, or PTL_NO_MEMORY.
 */
int analysis_changes_parse(struct analysis_changes *changes, const char *name, const char *text, size_t size);
/*
 * Reads the argument of the option: a file with a diff ("-": standard input). If no such file exists, `git diff` is run
 * with the argument as a revision or range.
 */
int analysis_changes_read(struct analysis_changes *changes, const char *text);
void analysis_changes_free(struct analysis_changes *changes);

/*
 * Whether the source path is a changed file: the path ends with the diff's path, with or without the diff's first
 * folder ("b/").
 */
bool analysis_changes_file(struct analysis_changes *changes, const char *path);
/* Whether the change added or modified this line of the source path. */
bool analysis_changes_line(const struct analysis_changes *changes, const char *path, uint32_t line);

#endif
