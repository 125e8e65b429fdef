/* SPDX-License-Identifier: BSD-2-Clause */
/* What the relogger needs of a trace that is read while it is written, besides ptl/reader.h. */
#ifndef FORMAT_READER_LIVE_H
#define FORMAT_READER_LIVE_H

#include <stdbool.h>

#include <ptl/reader.h>

/* Whether functions that would wait take the trace as it is now instead: that is so while callbacks run. */
void format_realtime_hold(struct ptl_trace *trace, bool held);
/* What has come is all of it: as if the writer were gone. PTL_NO_MEMORY, PTL_SYSTEM. */
int format_realtime_end(struct ptl_trace *trace);
/* Where its bytes are: the file, or the copy of what a pipe has brought. The trace's. */
int format_trace_descriptor(const struct ptl_trace *trace);

#endif
