/* SPDX-License-Identifier: BSD-2-Clause */
/* EnableFlags of the NT Kernel Logger, and what they are here. */
#ifndef RECORD_TRACEPOINT_FLAGS_H
#define RECORD_TRACEPOINT_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/text/string_list.h"

/*
 * Adds to the values of flags those of a list: names, separated by commas, or a number. PTL_MISUSE: there is no such flag, or
 * nothing here is what it stands for, and why.
 */
int record_flags_parse(const char *text, uint32_t *flags);
/* Adds the tracepoints, "SYSTEM:EVENT", that these flags stand for, each once. PTL_NO_MEMORY. */
int record_flags_tracepoints(uint32_t flags, struct common_string_list *tracepoints);
/* Whether one of the flags stands for the tracepoint. */
bool record_flags_have(uint32_t flags, const char *tracepoint);
/* The names of the flags, with commas between them. */
void record_flags_names(uint32_t flags, char *text, size_t size);

/* Shows each flag with its value, the tracepoints it stands for, and whether this user can record them. */
void record_flags_list(FILE *file);

#endif
