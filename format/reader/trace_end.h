/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a trace, for users who specify times relative to the end. */
#ifndef FORMAT_READER_TRACE_END_H
#define FORMAT_READER_TRACE_END_H

#include <stdint.h>

#include <ptl/reader.h>

/*
 * Returns the time of the last recorded event or packet, in the trace's clock. A recorder may run on afterwards, so its
 * own end time is used only if nothing in the trace has a time. 0: unknown.
 */
uint64_t format_trace_end(const struct ptl_trace *trace);

#endif
