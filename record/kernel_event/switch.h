/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Context switches of a command. The tracepoint sched:sched_switch belongs to the thread that leaves a CPU, so the
 * tracepoint of a command's threads never reports that a thread enters a CPU. The kernel's switch records report both.
 */
#ifndef RECORD_KERNEL_EVENT_SWITCH_H
#define RECORD_KERNEL_EVENT_SWITCH_H

#include <linux/perf_event.h>

#include "record/kernel_event/kernel_events_state.h"

/*
 * Whether switch records are wanted: for the flag cswitch and a command, unless the source records the switches of
 * packets' CPUs itself.
 */
bool kernel_event_switch_is_wanted(const struct kernel_events *state);
/* Writes a switch record as a context switch (ptl/kernel.h). Other records are skipped. */
int kernel_event_switch_take(struct kernel_events *state, const struct kernel_event_ring *ring,
			     const struct perf_event_header *record);

#endif
