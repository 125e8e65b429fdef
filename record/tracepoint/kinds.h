/* SPDX-License-Identifier: BSD-2-Clause */
/* Kinds of events that -e names beside tracepoints. */
#ifndef RECORD_TRACEPOINT_KINDS_H
#define RECORD_TRACEPOINT_KINDS_H

#include "record/tracepoint/event.h"

/*
 * Functions below read event->name and set what the event is. PTL_MISUSE, PTL_NOT_FOUND, PTL_SYSTEM, PTL_NO_MEMORY.
 */

/* counter.c: "cpu-clock", "page-faults", "cycles/freq=99/": samples of a counter of the kernel or the CPU. */
int tracepoint_counter_read(struct tracepoint_event *event);

/*
 * uprobe.c: "uprobe:PATH:FUNCTION" and "uretprobe:PATH:FUNCTION", where a function of a program is called and where it returns;
 * the format is made, with this number.
 */
int tracepoint_uprobe_read(struct tracepoint_event *event, struct perf_tracing *tracing, uint64_t number);

/*
 * sdt.c: "sdt:PATH:NAME" and "sdt:PATH:PROVIDER:NAME", a probe that the program was compiled with.
 */
int tracepoint_sdt_read(struct tracepoint_event *event, struct perf_tracing *tracing);

#endif
