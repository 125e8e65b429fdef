/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Formats a call as a line of text. Traces have many calls, so parts that consecutive lines share are formatted once.
 */
#ifndef DUMP_COMMAND_CALLS_LINE_H
#define DUMP_COMMAND_CALLS_LINE_H

#include "analysis/call/call_record.h"
#include "dump/run/run.h"

#define DUMP_CALLS_TIME_WIDTH 16    /* width of the time column with its separator */
#define DUMP_CALLS_COLUMNS_WIDTH 63 /* width of the columns between the time and the call */
#define DUMP_CALLS_NARROW_WIDTH 28  /* the same on a narrow terminal, which shows less columns */

#define DUMP_CALLS_LINE_SLACK 32 /* bytes after a name that may be read */

/* A formatted part of the last line, which the next line may share. */
#define DUMP_CALLS_PREPARED_MAX 192 /* a multiple of the slack; fits all marks */
struct dump_calls_prepared {
	uint64_t value;
	uint32_t size; /* 0: empty */
	char text[DUMP_CALLS_PREPARED_MAX];
};

/* Set run, zero the other members. */
struct dump_calls_line {
	struct dump_run *run;
	bool is_narrow;                  /* only duration and instructions between the time and the call */
	struct dump_calls_prepared time; /* time column: many calls begin at the same time */
	struct dump_calls_prepared marks;
};

/* The titles of the columns. */
extern const char dump_calls_line_head[], dump_calls_narrow_head[];
/* Whether the run's terminal is narrow. */
bool dump_calls_is_narrow(const struct dump_run *run);
/*
 * Appends a line. name: displayed name of the function, with any suffix; DUMP_CALLS_LINE_SLACK bytes after it must be
 * readable.
 */
void dump_calls_line_add(struct dump_calls_line *line, const struct analysis_call_record *record, const char *name,
			 size_t name_size, size_t level, struct ptl_bytes *text);
/* Appends the indentation of a call at this level of the tree. */
void dump_calls_line_indent(struct ptl_bytes *text, size_t level);

#endif
