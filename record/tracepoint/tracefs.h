/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the kernel describes its tracepoints. */
#ifndef RECORD_TRACEPOINT_TRACEFS_H
#define RECORD_TRACEPOINT_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text/string_list.h"

/*
 * The format of a tracepoint, "SYSTEM:EVENT", in fresh memory, with a zero byte behind it. PTL_MISUSE (no such name),
 * PTL_NOT_FOUND (the kernel has it not), PTL_SYSTEM (it may not be read), PTL_NO_MEMORY.
 */
int record_tracefs_format(const char *tracepoint, uint8_t **text, size_t *size);

/* The names that match a pattern, "sched:*", each to be freed. PTL_NOT_FOUND: none; PTL_SYSTEM, PTL_NO_MEMORY. */
int record_tracefs_matching(const char *pattern, struct common_string_list *names);

/* The names of its fields, "a, b", as many as have room; empty where that is not known. */
void record_tracefs_fields(const char *tracepoint, char *names, size_t room);

/* The path of a file of tracefs; false where that is not mounted, or does not have it. */
bool record_tracefs_path(const char *name, char *path, size_t room);

#endif
