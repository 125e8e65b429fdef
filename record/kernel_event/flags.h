/* SPDX-License-Identifier: BSD-2-Clause */
/* EnableFlags of the NT Kernel Logger and the tracepoints they stand for. */
#ifndef RECORD_KERNEL_EVENT_FLAGS_H
#define RECORD_KERNEL_EVENT_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/text/string_list.h"

/*
 * Adds the flags of a list to *flags. text: names of flags or of xperf's groups, or a number, separated by ',' or '+'.
 * PTL_MISUSE: unknown flag, or a flag without a counterpart on Linux; the text gives the reason.
 */
int record_flags_parse(const char *text, uint32_t *flags);
/* Adds the tracepoints "SYSTEM:EVENT" of the flags, each once. PTL_NO_MEMORY. */
int record_flags_tracepoints(uint32_t flags, struct common_string_list *tracepoints);
/* Returns whether one of the flags stands for the tracepoint. */
bool record_flags_have(uint32_t flags, const char *tracepoint);
/* Writes the names of the flags, separated by commas. */
void record_flags_names(uint32_t flags, char *text, size_t size);

/* Prints each flag and group with its value, its tracepoints or flags, and whether this user can record them. */
void record_flags_list(FILE *file);

#endif
