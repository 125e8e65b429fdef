/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of several streams, each in order of time, put into one order of time. */
#ifndef DUMP_PRINT_FLOW_MERGE_H
#define DUMP_PRINT_FLOW_MERGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/bytes.h"

/* Lines of one time: they start at this byte of their text and go up to the next item's. */
struct dump_flow_item {
	uint64_t time;
	size_t start;
};

/* Text of one stream with its items, times never decreasing. Zero-initialised is empty. */
struct dump_flow_lines {
	struct ptl_bytes text;
	struct dump_flow_item *items; /* owned */
	size_t count;
	size_t capacity;
};

/* Lines added to text from now on have this time, or the last one's where that is later. PTL_NO_MEMORY. */
int dump_flow_lines_at(struct dump_flow_lines *lines, uint64_t time);
void dump_flow_lines_free(struct dump_flow_lines *lines);

struct dump_flow_merge;

/* What becomes of a text that was written: give_back takes it over. NULL without memory. */
struct dump_flow_merge *dump_flow_merge_new(void (*give_back)(void *context, struct ptl_bytes *text), void *context);
void dump_flow_merge_free(struct dump_flow_merge *merge);

/* Adds lines of a group behind what the group has; takes them over, also on failure. PTL_NO_MEMORY. */
int dump_flow_merge_add(struct dump_flow_merge *merge, size_t group, struct dump_flow_lines *lines);
/*
 * Writes all lines before horizon in order of time; those of equal time in order of group. What is much waits in a
 * temporary file: PTL_SYSTEM and PTL_TRUNCATED where that cannot be read.
 */
int dump_flow_merge_write(struct dump_flow_merge *merge, uint64_t horizon, FILE *out);

#endif
