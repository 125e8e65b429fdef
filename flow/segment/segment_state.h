/* SPDX-License-Identifier: BSD-2-Clause */
/* What lists of segments are made of, whether they are of a trace or of shards: for those who make them alone. */
#ifndef FLOW_SEGMENT_SEGMENT_STATE_H
#define FLOW_SEGMENT_SEGMENT_STATE_H

#include "flow/segment/segment.h"
#include "flow/segment/switch.h"

/* A PT stream that is selected, and whose it is. */
struct flow_segment_stream {
	const struct ptl_stream *stream;
	uint32_t pid, tid;
	uint32_t process, thread;
	/* Of a CPU, with times: what it ran when. NULL: this is not known, and all of it is that thread's. */
	const struct flow_switch *switches;
	size_t switch_count;
};

/* The streams that may have something of the selection, in the order of their segments. The caller frees. PTL_NO_MEMORY. */
int flow_segment_streams(const struct ptl_trace *trace, const struct flow_timeline *timeline,
			 const struct flow_selection *selection, struct flow_segment_stream **selected, size_t *count);

/* The machine that made the segment's packets. */
const struct ptl_machine *flow_segment_machine(const struct ptl_trace *trace, const struct flow_segment *segment);
/* The segment's bytes, up to a hole, and no more than a few MiB. The caller frees. */
int flow_segment_bytes_read(struct ptl_trace *trace, const struct flow_segment *segment, uint8_t **bytes, size_t *size);

/* A thread may have run on several CPUs: what they have of it is put in order, and is one group. */
void flow_segments_group_by_thread(struct flow_segment_list *list);

#endif
