/* SPDX-License-Identifier: BSD-2-Clause */
/* Words for special properties of calls. */
#ifndef ANALYSIS_CALL_CALL_MARK_H
#define ANALYSIS_CALL_CALL_MARK_H

#include "analysis/call/call_stack.h"

/* A word for a flag of ANALYSIS_CALL_SHOWN. */
struct analysis_call_mark {
	unsigned flag;
	const char *word;
};
#define ANALYSIS_CALL_MARKS 10
extern const struct analysis_call_mark analysis_call_marks[ANALYSIS_CALL_MARKS];

/* Appends the words of all set flags, with the separator between them. */
void analysis_call_marks_text(unsigned flags, const char *separator, struct ptl_bytes *text);

#endif
