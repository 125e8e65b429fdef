/* SPDX-License-Identifier: BSD-2-Clause */
/* The words for marks of calls. */
#include "dump/analysis/call_mark.h"

const struct dump_calls_mark dump_calls_marks[DUMP_CALLS_MARKS] = {
	{DUMP_CALL_TAIL, "tail-call"},     {DUMP_CALL_SIGNAL, "signal"},         {DUMP_CALL_KERNEL, "kernel"},
	{DUMP_CALL_OUTSIDE, "not-traced"}, {DUMP_CALL_STACK, "new-stack"},       {DUMP_CALL_INFERRED, "inferred"},
	{DUMP_CALL_UNWOUND, "unwound"},    {DUMP_CALL_UNFINISHED, "unfinished"}, {DUMP_CALL_LOST, "lost"},
};
