/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of programs and the kernel as lines of flow, each in its place by time. */
#ifndef DUMP_PRINT_FLOW_EVENTS_H
#define DUMP_PRINT_FLOW_EVENTS_H

#include <stdio.h>

#include "dump/session/command.h"
#include "dump/print/flow.h"
#include "dump/print/flow_merge.h"

struct dump_flow_events;
/* The events of one thread, or of all, in order of time. */
struct dump_flow_event_list;

/*
 * Makes the lines of all events that the session's options select; they wait in memory. print and what it points to
 * outlive it. PTL_NO_MEMORY, and what ptl_process returns.
 */
int dump_flow_events_open(struct dump_session *session, const struct dump_flow_print *print,
			  const struct dump_flow_format *format, struct dump_flow_events **events);
void dump_flow_events_close(struct dump_flow_events *events);

/* Where print->merged: all lines, for dump_flow_merge_add. */
struct dump_flow_lines *dump_flow_events_lines(struct dump_flow_events *events);
/* Else: those of a thread; NULL: it has none. */
struct dump_flow_event_list *dump_flow_events_of(struct dump_flow_events *events, uint32_t pid, uint32_t tid);

/* Writes lines of the thread's flow, and before those of each time the events that came before it. */
void dump_flow_events_write(struct dump_flow_event_list *list, const struct dump_flow_lines *lines, FILE *out);
/* The lines of those before a time that were not given or written yet; they belong to the list. */
const uint8_t *dump_flow_events_take(struct dump_flow_event_list *list, uint64_t time, size_t *size);
/* Whether there are events that were not written yet, and writes them. */
bool dump_flow_events_left(const struct dump_flow_event_list *list);
void dump_flow_events_flush(struct dump_flow_event_list *list, FILE *out);

#endif
