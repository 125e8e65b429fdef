/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions for the relogger to read a trace that is being written, besides ptl/reader.h. */
#ifndef FORMAT_READER_LIVE_H
#define FORMAT_READER_LIVE_H

#include <stdbool.h>

#include <ptl/reader.h>

/* held: functions that would wait use the current state of the trace instead. Set while callbacks run. */
void format_realtime_hold(struct ptl_trace *trace, bool held);
/* Adds `delay` ns to the delay given to ptl_open_realtime, for data that arrives from now on. */
void format_realtime_delay(struct ptl_trace *trace, uint64_t delay);
/* Returns what ptl_realtime_horizon would return without this additional delay. */
uint64_t format_realtime_ahead(const struct ptl_trace *trace);
/* Ends the trace with the data received so far, as if the writer were gone. PTL_NO_MEMORY, PTL_SYSTEM. */
int format_realtime_end(struct ptl_trace *trace);
/* Returns the descriptor of the trace's bytes: the file, or the copy of a pipe's data. The trace owns it. */
int format_trace_descriptor(const struct ptl_trace *trace);

#endif
