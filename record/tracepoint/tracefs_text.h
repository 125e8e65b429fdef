/* SPDX-License-Identifier: BSD-2-Clause */
/* What files of tracefs say. Texts end with a zero byte; those that are not const are cut into lines. */
#ifndef RECORD_TRACEPOINT_TRACEFS_TEXT_H
#define RECORD_TRACEPOINT_TRACEFS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text/nearest.h"
#include "common/text/string_list.h"

/* Adds the lines of available_events that match a pattern, "sched:*", each to be freed. PTL_NO_MEMORY. */
int record_tracefs_text_matching(char *text, const char *pattern, struct common_string_list *names);

/* Looks for the line of available_events that is nearest to a name. */
void record_tracefs_text_nearest(char *text, struct common_nearest *nearest);

/* "ID: 372" of a format; 0: it has none. */
uint64_t record_tracefs_text_id(const char *text);

/* The names of the fields of a format, "a, b", as many as have room. */
void record_tracefs_text_fields(char *text, char *names, size_t room);

/* A probe in a line of uprobe_events, "p:ptl_PID_START_N/NAME PATH:OFFSET", that a recorder made. */
struct record_tracefs_probe {
	const char *name; /* in the line */
	size_t name_size;
	uint32_t pid;   /* of the recorder */
	uint64_t start; /* when it started, as record_proc_stat has it */
};

/* false: another's, or none. */
bool record_tracefs_text_probe(const char *line, struct record_tracefs_probe *probe);

#endif
