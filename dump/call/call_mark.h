/* SPDX-License-Identifier: BSD-2-Clause */
/* Words for special properties of calls. */
#ifndef DUMP_CALL_CALL_MARK_H
#define DUMP_CALL_CALL_MARK_H

#include "dump/call/call_stack.h"

/* A word for a flag of DUMP_CALL_SHOWN. */
struct dump_call_mark {
	unsigned flag;
	const char *word;
};
#define DUMP_CALL_MARKS 10
extern const struct dump_call_mark dump_call_marks[DUMP_CALL_MARKS];

/* Appends the words of all set flags, with the separator between them. */
void dump_call_marks_text(unsigned flags, const char *separator, struct ptl_bytes *text);

#endif
