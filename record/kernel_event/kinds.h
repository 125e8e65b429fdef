/* SPDX-License-Identifier: BSD-2-Clause */
/* Kinds of events of -e other than tracepoints. */
#ifndef RECORD_KERNEL_EVENT_KINDS_H
#define RECORD_KERNEL_EVENT_KINDS_H

#include "record/kernel_event/event.h"

/*
 * The functions below read event->name and fill in the event.
 * Errors: PTL_MISUSE, PTL_NOT_FOUND, PTL_SYSTEM, PTL_NO_MEMORY.
 */

/* counter.c: "cpu-clock", "page-faults", "cycles/freq=99/": samples of a counter of the kernel or the CPU. */
int kernel_event_counter_read(struct kernel_event *event);

/*
 * uprobe.c: "uprobe:PATH:FUNCTION" (calls of a function) and "uretprobe:PATH:FUNCTION" (its returns).
 * The generated format gets this number.
 */
int kernel_event_uprobe_read(struct kernel_event *event, struct perf_tracing *tracing, uint64_t number);

/* sdt.c: "sdt:PATH:NAME" and "sdt:PATH:PROVIDER:NAME", a probe compiled into the program. */
int kernel_event_sdt_read(struct kernel_event *event, struct perf_tracing *tracing);

#endif
