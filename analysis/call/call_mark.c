/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of words for flags of calls. */
#include "analysis/call/call_mark.h"

#include "common/text/text.h"

const struct analysis_call_mark analysis_call_marks[ANALYSIS_CALL_MARKS] = {
	{ANALYSIS_CALL_TAIL, "tail-call"},  {ANALYSIS_CALL_SIGNAL, "signal"},
	{ANALYSIS_CALL_KERNEL, "kernel"},   {ANALYSIS_CALL_OUTSIDE, "not-traced"},
	{ANALYSIS_CALL_STACK, "new-stack"}, {ANALYSIS_CALL_INFERRED, "inferred"},
	{ANALYSIS_CALL_UNWOUND, "unwound"}, {ANALYSIS_CALL_UNFINISHED, "unfinished"},
	{ANALYSIS_CALL_LOST, "lost"},       {ANALYSIS_CALL_GUESSED, "stack-guessed"},
};

void analysis_call_marks_text(unsigned flags, const char *separator, struct ptl_bytes *text)
{
	bool any = false;

	for (size_t i = 0; i < ANALYSIS_CALL_MARKS; i++) {
		if (!(flags & analysis_call_marks[i].flag))
			continue;
		common_text_add(text, any ? separator : "");
		common_text_add(text, analysis_call_marks[i].word);
		any = true;
	}
}
