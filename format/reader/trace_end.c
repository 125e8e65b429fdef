/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a trace. */
#include "format/reader/trace_end.h"

uint64_t format_trace_end(const struct ptl_trace *trace)
{
	uint64_t end = 0;

	for (size_t i = 0; i < ptl_buffer_count(trace); i++) {
		const struct ptl_buffer *buffer = ptl_buffer_at(trace, i);

		if (buffer->stream.kind == PTL_KIND_EVENTS || buffer->stream.kind == PTL_KIND_PT)
			end = buffer->last_time > end ? buffer->last_time : end;
	}
	return end ? end : ptl_trace_machine(trace)->end_time;
}
