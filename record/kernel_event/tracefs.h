/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of tracefs, in which the kernel describes its tracepoints. */
#ifndef RECORD_KERNEL_EVENT_TRACEFS_H
#define RECORD_KERNEL_EVENT_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text/string_list.h"

/*
 * Reads the format of a tracepoint "SYSTEM:EVENT" into fresh memory, with a zero byte appended.
 * Errors: PTL_MISUSE (malformed name), PTL_NOT_FOUND (unknown to the kernel), PTL_SYSTEM (unreadable), PTL_NO_MEMORY.
 */
int record_tracefs_format(const char *tracepoint, uint8_t **text, size_t *size);

/*
 * Adds the names of tracepoints that match a pattern such as "sched:*". The caller frees each name.
 * Errors: PTL_NOT_FOUND (no match), PTL_SYSTEM, PTL_NO_MEMORY.
 */
int record_tracefs_matching(const char *pattern, struct common_string_list *names);

/* Writes the names of the tracepoint's fields, "a, b", as many as fit. Empty if the format cannot be read. */
void record_tracefs_fields(const char *tracepoint, char *names, size_t room);

/* Sets the path of a file of tracefs. False if tracefs is not mounted or lacks the file. */
bool record_tracefs_path(const char *name, char *path, size_t room);

#endif
