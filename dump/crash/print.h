/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints failures as text and as JSON. */
#ifndef DUMP_CRASH_PRINT_H
#define DUMP_CRASH_PRINT_H

#include "dump/crash/crash.h"

/* Write the report to the run's output. Return 0, PTL_NO_MEMORY, or the status of dump_output_check. */
int dump_crash_text(const struct dump_crash_report *report);
int dump_crash_json(const struct dump_crash_report *report);

/* Adds the members of a failure to the open object. source: adds the words of source lines. */
void dump_crash_json_members(const struct dump_crash_report *report, const struct dump_crash *crash,
			     struct common_json *json);

#endif
