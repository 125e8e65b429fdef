/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges the lines of several streams into one order of time. Each stream is ordered by time. */
#ifndef DUMP_FLOW_FLOW_MERGE_H
#define DUMP_FLOW_FLOW_MERGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/bytes.h"

/* Lines with the same time: from `start`, a byte offset in the text, up to the next item. */
struct dump_flow_item {
	uint64_t time;
	size_t start;
};

/* Lines of one stream with ascending times. Zero-initialised: empty. */
struct dump_flow_lines {
	struct ptl_bytes text;
	struct dump_flow_item *items; /* owned */
	size_t count;
	size_t capacity;
};

/*
 * Sets the time of lines added from now on. An earlier time than the last item's is replaced by the last item's.
 * Returns 0 or PTL_NO_MEMORY.
 */
int dump_flow_lines_at(struct dump_flow_lines *lines, uint64_t time);
void dump_flow_lines_free(struct dump_flow_lines *lines);

struct dump_flow_merge;

/* Creates a merge. give_back takes over each written text. Returns NULL without memory. */
struct dump_flow_merge *dump_flow_merge_new(void (*give_back)(void *context, struct ptl_bytes *text), void *context);
void dump_flow_merge_free(struct dump_flow_merge *merge);

/* Appends lines to a group. Takes over the lines, even after a failure. Returns 0 or PTL_NO_MEMORY. */
int dump_flow_merge_add(struct dump_flow_merge *merge, size_t group, struct dump_flow_lines *lines);
/*
 * Writes all lines before `horizon`, ordered by time, then by group. Large texts wait in a temporary file. Returns 0,
 * or PTL_SYSTEM or PTL_TRUNCATED if the file cannot be read.
 */
int dump_flow_merge_write(struct dump_flow_merge *merge, uint64_t horizon, FILE *out);

#endif
