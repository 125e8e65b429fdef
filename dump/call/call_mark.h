/* SPDX-License-Identifier: BSD-2-Clause */
/* What is remarkable about calls, in words. */
#ifndef DUMP_CALL_CALL_MARK_H
#define DUMP_CALL_CALL_MARK_H

#include "dump/call/call_stack.h"

/* The words for DUMP_CALL_SHOWN. */
struct dump_call_mark {
	unsigned flag;
	const char *word;
};
#define DUMP_CALL_MARKS 10
extern const struct dump_call_mark dump_call_marks[DUMP_CALL_MARKS];

/* Appends the words of the flags, with a separator between them. */
void dump_call_marks_text(unsigned flags, const char *separator, struct ptl_bytes *text);

#endif
