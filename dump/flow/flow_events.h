/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints events of programs and the kernel as lines between lines of flow, ordered by time. */
#ifndef DUMP_FLOW_FLOW_EVENTS_H
#define DUMP_FLOW_FLOW_EVENTS_H

#include <stdio.h>

#include "dump/flow/flow.h"
#include "dump/flow/flow_merge.h"
#include "dump/run/command.h"

struct dump_flow_events;
/* Events of one thread, or of all threads, ordered by time. */
struct dump_flow_event_list;

/* Returns whether the trace has events of ptl-record that tell where packets are paused. */
bool dump_flow_events_tell_pauses(const struct ptl_trace *trace);

/*
 * Formats the lines of all selected events, or of pauses alone, and keeps the lines in memory. `print` and all it points
 * to must outlive the events. Returns 0, PTL_NO_MEMORY, or a status of ptl_process.
 */
int dump_flow_events_open(struct dump_run *run, const struct dump_flow_print *print,
			  const struct dump_flow_format *format, bool pauses_only, struct dump_flow_events **events);
void dump_flow_events_close(struct dump_flow_events *events);

/* If print->merged: returns the lines of all events, for dump_flow_merge_add. */
struct dump_flow_lines *dump_flow_events_lines(struct dump_flow_events *events);
/* If not print->merged: returns the events of a thread; NULL: none. */
struct dump_flow_event_list *dump_flow_events_of(struct dump_flow_events *events, uint32_t pid, uint32_t tid);

/* Writes lines of the thread's flow. Before each line, writes the events with an earlier time. */
void dump_flow_events_write(struct dump_flow_event_list *list, const struct dump_flow_lines *lines, FILE *out);
/* Returns the lines of events before a time, except those already returned or written. The list owns the lines. */
const uint8_t *dump_flow_events_take(struct dump_flow_event_list *list, uint64_t time, size_t *size);
/* Whether unwritten events are left; writes the unwritten events. */
bool dump_flow_events_left(const struct dump_flow_event_list *list);
void dump_flow_events_flush(struct dump_flow_event_list *list, FILE *out);

#endif
