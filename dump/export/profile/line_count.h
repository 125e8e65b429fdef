/* SPDX-License-Identifier: BSD-2-Clause */
/* How many instructions of each function ran on which source line. */
#ifndef DUMP_EXPORT_PROFILE_LINE_COUNT_H
#define DUMP_EXPORT_PROFILE_LINE_COUNT_H

#include "dump/export/profile/function_line.h"

struct dump_line_count {
	const char *file; /* lives as long as the function lines */
	uint32_t function;
	uint32_t line;
	uint64_t instructions;
};

/* Sorted by function, file and line. Zero-initialised is empty. */
struct dump_line_counts {
	struct dump_line_count *list; /* owned */
	size_t count, capacity;
	struct common_byte_map numbers; /* while it is made */
};

/*
 * Counts the session's selection by blocks, as report --by line does: a walk of its own. PTL_NO_MEMORY, and what
 * flow_profile_run returns. Says where no image that ran has lines. With `outer` what was inlined is of the line from which the function
 * that it lies in called it. Free in any case.
 */
int dump_line_counts_make(struct dump_line_counts *counts, const struct dump_function_lines *lines, bool outer);
void dump_line_counts_free(struct dump_line_counts *counts);

/*
 * The lines of a function, *count of them, of which at most `instructions` ran: NULL where more did. Calls and addresses
 * do not always agree on whose an instruction is.
 */
const struct dump_line_count *dump_line_counts_of(const struct dump_line_counts *counts, uint32_t function,
						  uint64_t instructions, size_t *count);

#endif
