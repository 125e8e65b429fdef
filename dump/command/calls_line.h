/* SPDX-License-Identifier: BSD-2-Clause */
/* A call as a line of text. Traces have many: what lines have in common is made once. */
#ifndef DUMP_COMMAND_CALLS_LINE_H
#define DUMP_COMMAND_CALLS_LINE_H

#include "dump/call/call_record.h"
#include "dump/session/session.h"

#define DUMP_CALLS_TIME_WIDTH 16    /* of the column of times, with what follows it */
#define DUMP_CALLS_COLUMNS_WIDTH 63 /* of those between it and the calls */

#define DUMP_CALLS_LINE_SLACK 32 /* bytes behind a name that may be read */

/* A part of the line before that the next one may have too. */
#define DUMP_CALLS_PREPARED_MAX 192 /* a multiple of the slack; fits all marks */
struct dump_calls_prepared {
	uint64_t value;
	uint32_t size; /* 0: there is none */
	char text[DUMP_CALLS_PREPARED_MAX];
};

/* Set session, and zero the rest. */
struct dump_calls_line {
	const struct dump_session *session;
	struct dump_calls_prepared time; /* its column: many calls are at one time */
	struct dump_calls_prepared marks;
};

/* The words above the columns. */
extern const char dump_calls_line_head[];
/* name: that of the function, and whatever is to be shown behind it; DUMP_CALLS_LINE_SLACK bytes behind that may be read. */
void dump_calls_line_add(struct dump_calls_line *line, const struct dump_call_record *record, const char *name,
			 size_t name_size, size_t level, struct ptl_bytes *text);
/* What stands before the name of a call at a level of the tree. */
void dump_calls_line_indent(struct ptl_bytes *text, size_t level);

#endif
