/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses texts of tracefs files. A text ends with a zero byte. Functions that take a non-const text cut it into lines.
 */
#ifndef RECORD_KERNEL_EVENT_TRACEFS_TEXT_H
#define RECORD_KERNEL_EVENT_TRACEFS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text/nearest.h"
#include "common/text/string_list.h"

/*
 * Adds the lines of available_events that match a pattern such as "sched:*". The caller frees each line. PTL_NO_MEMORY.
 */
int record_tracefs_text_matching(char *text, const char *pattern, struct common_string_list *names);

/* Searches available_events for the line that is nearest to a name. */
void record_tracefs_text_nearest(char *text, struct common_nearest *nearest);

/* Returns the number of a format's line "ID: 372", or 0 without that line. */
uint64_t record_tracefs_text_id(const char *text);

/* Writes the names of a format's fields, "a, b", as many as fit. */
void record_tracefs_text_fields(char *text, char *names, size_t room);

/* A recorder's probe in a line of uprobe_events: "p:ptl_PID_START_N/NAME PATH:OFFSET". */
struct record_tracefs_probe {
	const char *name; /* points into the line */
	size_t name_size;
	uint32_t pid;   /* of the recorder */
	uint64_t start; /* start time of the recorder in clock ticks, as record_proc_stat reads it */
};

/* Parses a line of uprobe_events. False if no recorder created the probe. */
bool record_tracefs_text_probe(const char *line, struct record_tracefs_probe *probe);

#endif
