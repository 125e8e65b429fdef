/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of words for flags of calls. */
#include "dump/call/call_mark.h"

#include "common/text/text.h"

const struct dump_call_mark dump_call_marks[DUMP_CALL_MARKS] = {
	{DUMP_CALL_TAIL, "tail-call"},        {DUMP_CALL_SIGNAL, "signal"},         {DUMP_CALL_KERNEL, "kernel"},
	{DUMP_CALL_OUTSIDE, "not-traced"},    {DUMP_CALL_STACK, "new-stack"},       {DUMP_CALL_INFERRED, "inferred"},
	{DUMP_CALL_UNWOUND, "unwound"},       {DUMP_CALL_UNFINISHED, "unfinished"}, {DUMP_CALL_LOST, "lost"},
	{DUMP_CALL_GUESSED, "stack-guessed"},
};

void dump_call_marks_text(unsigned flags, const char *separator, struct ptl_bytes *text)
{
	bool any = false;

	for (size_t i = 0; i < DUMP_CALL_MARKS; i++) {
		if (!(flags & dump_call_marks[i].flag))
			continue;
		common_text_add(text, any ? separator : "");
		common_text_add(text, dump_call_marks[i].word);
		any = true;
	}
}
