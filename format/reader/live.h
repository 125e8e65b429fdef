/* SPDX-License-Identifier: BSD-2-Clause */
/* What the relogger needs of a trace that is read while it is written, besides ptl/reader.h. */
#ifndef FORMAT_READER_LIVE_H
#define FORMAT_READER_LIVE_H

#include <stdbool.h>

#include <ptl/reader.h>

/* Whether functions that would wait take the trace as it is now instead: that is so while callbacks run. */
void format_realtime_hold(struct ptl_trace *trace, bool held);
/* From now on, what comes waits so much longer than ptl_open_realtime said, in ns. */
void format_realtime_delay(struct ptl_trace *trace, uint64_t delay);
/* What ptl_realtime_horizon would be without that. */
uint64_t format_realtime_ahead(const struct ptl_trace *trace);
/* What has come is all of it: as if the writer were gone. PTL_NO_MEMORY, PTL_SYSTEM. */
int format_realtime_end(struct ptl_trace *trace);
/* Where its bytes are: the file, or the copy of what a pipe has brought. The trace's. */
int format_trace_descriptor(const struct ptl_trace *trace);

#endif
