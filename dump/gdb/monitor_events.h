/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of the process, for gdb's "monitor". */
#ifndef DUMP_GDB_MONITOR_EVENTS_H
#define DUMP_GDB_MONITOR_EVENTS_H

#include "dump/gdb/process.h"

/* The command "events [NAME]". */
void dump_gdb_monitor_events(struct dump_gdb_process *process, const char *words, struct ptl_bytes *text);
/*
 * Finds the last event of this name before the end of the window. *time: the event's time. Returns false, with a message
 * in text, without an event.
 */
bool dump_gdb_monitor_find_event(struct dump_gdb_process *process, const char *words, uint64_t *time,
				 struct ptl_bytes *text);
/* Appends the last event of the thread at or before a time, and the first event behind this time. */
void dump_gdb_monitor_near(struct dump_gdb_process *process, uint64_t tid, uint64_t time, struct ptl_bytes *text);

#endif
