/* SPDX-License-Identifier: BSD-2-Clause */
/* Internals of segment lists, shared by lists of traces and lists of shards. */
#ifndef FLOW_SEGMENT_SEGMENT_STATE_H
#define FLOW_SEGMENT_SEGMENT_STATE_H

#include "flow/segment/segment.h"
#include "flow/segment/switch.h"

/* A selected PT stream and its owner. */
struct flow_segment_stream {
	const struct ptl_stream *stream;
	uint32_t pid, tid;
	uint32_t process, thread;
	/*
	 * Switches of the stream's CPU, if the packets have times. NULL: the switches are unknown, and the whole stream
	 * belongs to `thread`.
	 */
	const struct flow_switch *switches;
	size_t switch_count;
};

/*
 * Lists the streams that may have selected segments, in the order of the segments. The caller frees *selected. Returns
 * PTL_NO_MEMORY.
 */
int flow_segment_streams(const struct ptl_trace *trace, const struct flow_timeline *timeline,
			 const struct flow_selection *selection, struct flow_segment_stream **selected, size_t *count);

/* Returns the machine that made the segment's packets. */
const struct ptl_machine *flow_segment_machine(const struct ptl_trace *trace, const struct flow_segment *segment);
/* Reads the segment's bytes, up to a hole, and at most a few MiB. The caller frees *bytes. */
int flow_segment_bytes_read(struct ptl_trace *trace, const struct flow_segment *segment, uint8_t **bytes, size_t *size);

/* Sorts segments by thread, and makes one group of a thread's segments on several CPUs. */
void flow_segments_group_by_thread(struct flow_segment_list *list);

#endif
