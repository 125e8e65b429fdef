/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the context switches in the PT of a CPU: places where packets are disabled and the thread changes. */
#ifndef FLOW_SEGMENT_SWITCH_H
#define FLOW_SEGMENT_SWITCH_H

#include "flow/segment/segment.h"

/* A part of a segment. All its packets are of one thread, or of an unknown thread. */
struct flow_segment_piece {
	uint64_t begin; /* offset in the segment */
	uint64_t time;  /* time at the beginning */
	/* index of the switch to the thread; if the thread is unknown, index of the switch before */
	size_t owner;
	bool unknown;       /* the thread is unknown */
	bool ends_disabled; /* packets are disabled at the piece's end (not for the last piece) */
};

struct flow_segment_pieces {
	struct flow_segment_piece *pieces; /* at least one piece, without holes in between */
	size_t count;
};

/*
 * Cuts the segment at context switches. The segment has a PSB, and belongs to a CPU with these switches. A switch took
 * place while packets were disabled. The times of packets tell which pause contains the switch. If several pauses may
 * contain the switch, the packets between the pauses are of an unknown thread. segment->time and end_time are the times
 * of the segment's begin and end.
 * Returns PTL_NO_MEMORY, or an error of the reader. Free with flow_segment_pieces_free.
 */
int flow_segment_pieces_find(struct ptl_trace *trace, const struct flow_segment *segment,
			     const struct flow_switch *switches, size_t count, struct flow_segment_pieces *pieces);
void flow_segment_pieces_free(struct flow_segment_pieces *pieces);

#endif
