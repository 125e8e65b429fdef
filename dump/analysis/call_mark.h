/* SPDX-License-Identifier: BSD-2-Clause */
/* What is remarkable about calls, in words. */
#ifndef DUMP_ANALYSIS_CALL_MARK_H
#define DUMP_ANALYSIS_CALL_MARK_H

#include "dump/analysis/call_stack.h"

/* What was inferred, and so on; its flag is one of DUMP_CALL_*. */
struct dump_calls_mark {
	unsigned flag;
	const char *word;
};
#define DUMP_CALLS_MARKS 9
extern const struct dump_calls_mark dump_calls_marks[DUMP_CALLS_MARKS];

#endif
