/* SPDX-License-Identifier: BSD-2-Clause */
/* When a trace ends, as users mean it who count times from there. */
#ifndef FORMAT_READER_TRACE_END_H
#define FORMAT_READER_TRACE_END_H

#include <stdint.h>

#include <ptl/reader.h>

/*
 * The time of the last thing that was recorded, in the trace's clock. A recorder may go on for a while after that, and
 * the end that it gives is used only where nothing has a time; 0: not known.
 */
uint64_t format_trace_end(const struct ptl_trace *trace);

#endif
