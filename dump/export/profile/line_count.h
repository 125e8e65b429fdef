/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts instructions by function and source line. */
#ifndef DUMP_EXPORT_PROFILE_LINE_COUNT_H
#define DUMP_EXPORT_PROFILE_LINE_COUNT_H

#include "dump/export/profile/function_line.h"

struct dump_line_count {
	const char *file; /* lives as long as the function lines */
	uint32_t function;
	uint32_t line;
	uint64_t instructions;
};

/* Sorted by function, file and line. Zero-initialised: empty. */
struct dump_line_counts {
	struct dump_line_count *list; /* owned */
	size_t count, capacity;
	struct common_byte_map numbers; /* used while counting */
};

/*
 * Counts the selected flow by blocks, like report --by line, in a run of its own. Prints a note if no executed image
 * has lines. outer: inlined code counts on the line of the call in the function that contains it. Returns 0,
 * PTL_NO_MEMORY, or a status of analysis_profile_run. Call dump_line_counts_free in any case.
 */
int dump_line_counts_make(struct dump_line_counts *counts, const struct dump_function_lines *lines, bool outer);
void dump_line_counts_free(struct dump_line_counts *counts);

/*
 * Returns the lines of a function; *count: number of lines. Returns NULL if the lines have more than `instructions` in
 * all: the call tree and addresses may disagree on the function of an instruction.
 */
const struct dump_line_count *dump_line_counts_of(const struct dump_line_counts *counts, uint32_t function,
						  uint64_t instructions, size_t *count);

#endif
