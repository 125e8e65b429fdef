/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints counts of events. */
#ifndef DUMP_PRINT_EVENT_COUNT_H
#define DUMP_PRINT_EVENT_COUNT_H

#include "analysis/event/event_count.h"
#include "analysis/event/event_names.h"
#include "dump/run/command.h"

/*
 * Prints the counts sorted by provider, id, opcode and version; text ends with a sum. span: nanoseconds for rates; 0:
 * no rates. Returns 0 or PTL_NO_MEMORY.
 */
int dump_event_count_print(struct analysis_event_count *count, struct dump_run *run, const struct analysis_names *names,
			   uint64_t span);

#endif
