/* SPDX-License-Identifier: BSD-2-Clause */
/* Output of ptl-dump why. */
#ifndef DUMP_COMMAND_WHY_PRINT_H
#define DUMP_COMMAND_WHY_PRINT_H

#include "dump/why/why.h"

/* Both print at most `limit` rows of each kind. Return 0 or PTL_NO_MEMORY. */
int dump_why_text(const struct dump_why *why, uint64_t limit);
int dump_why_json(const struct dump_why *why, uint64_t limit);

/* Appends the command that shows a call: "ptl-dump calls --calls 'f: number == 7' a.ptl". */
void dump_why_command(const struct dump_why *why, const struct analysis_set_call *call, struct ptl_bytes *text);
/* Finds the source line of the function's beginning, or of an address. Returns false if unknown. */
bool dump_why_line_of(const struct dump_why *why, uint32_t function, const char **file, uint32_t *line);
/* Whether the branch went this way in clearly more of the slow calls than of the other calls. */
bool dump_why_tells(const struct dump_why *why, const struct dump_why_place *place);

#endif
