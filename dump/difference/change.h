/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines that a change added or changed: of a unified diff, as diff -u and git write it. */
#ifndef DUMP_DIFFERENCE_CHANGE_H
#define DUMP_DIFFERENCE_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dump_changed_file {
	char *path;          /* as the diff has it, behind its change; owned */
	bool is_met;         /* dump_changes_file was true for it */
	size_t first, count; /* of the spans */
};

struct dump_changed_span {
	uint32_t first, last; /* lines, both inclusive */
};

struct dump_changes {
	struct dump_changed_file *files;
	struct dump_changed_span *spans; /* of each file in order of lines */
	size_t file_count, span_count;
};

/* The text of a diff. PTL_CORRUPT where it is none, with the line; PTL_NO_MEMORY. */
int dump_changes_parse(struct dump_changes *changes, const char *name, const char *text, size_t size);
/*
 * What the option gives: a file with a diff ("-": standard input), or else what `git diff` shows of such a revision or range.
 */
int dump_changes_read(struct dump_changes *changes, const char *text);
void dump_changes_free(struct dump_changes *changes);

/* Whether the path of a source is that of a changed file: it ends with it, with or without the diff's first folder ("b/"). */
bool dump_changes_file(struct dump_changes *changes, const char *path);
/* Whether the line of such a path is one that was added or changed. */
bool dump_changes_line(const struct dump_changes *changes, const char *path, uint32_t line);

#endif
