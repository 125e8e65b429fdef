/* SPDX-License-Identifier: BSD-2-Clause */
/* EnableFlags of the NT Kernel Logger, and what they are here. */
#ifndef RECORD_TRACEPOINT_FLAGS_H
#define RECORD_TRACEPOINT_FLAGS_H

#include <stdio.h>

#include "common/string_list.h"

/*
 * Adds the tracepoints, "SYSTEM:EVENT", of a list of flags: names, separated by commas, or a number. PTL_MISUSE: there is no such
 * flag, or nothing here is what it stands for, and why.
 */
int record_flags_parse(const char *text, struct common_string_list *tracepoints);

/* Shows each flag with its value, the tracepoints it stands for, and whether this user can record them. */
void record_flags_list(FILE *file);

#endif
