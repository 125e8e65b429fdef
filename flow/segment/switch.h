/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds where the PT of a CPU goes over from one thread to another: at context switches, while packets are disabled. */
#ifndef FLOW_SEGMENT_SWITCH_H
#define FLOW_SEGMENT_SWITCH_H

#include "flow/segment/segment.h"

/* A part of a segment of which all packets are of one thread, or of nobody knows whom. */
struct flow_segment_piece {
	uint64_t begin;     /* offset in the segment */
	uint64_t time;      /* at which it begins */
	size_t owner;       /* index of the switch to the thread; where it is not known, to the one before */
	bool unknown;       /* its owner is unknown */
	bool ends_disabled; /* packets are disabled where it ends (not for the last one) */
};

struct flow_segment_pieces {
	struct flow_segment_piece *pieces; /* at least one, without holes between them */
	size_t count;
};

/*
 * Cuts the segment, which has a PSB and belongs to a CPU with these switches. A switch lies between two packets: it
 * took place while packets were disabled, at the only such stretch that was there at its time as far as timing
 * packets tell; if that can be several, the packets between them are of an unknown thread. segment->time and end_time
 * say when it begins and ends. PTL_NO_MEMORY, or what the reader says. Free with flow_segment_pieces_free.
 */
int flow_segment_pieces_find(struct ptl_trace *trace, const struct flow_segment *segment,
			     const struct flow_switch *switches, size_t count, struct flow_segment_pieces *pieces);
void flow_segment_pieces_free(struct flow_segment_pieces *pieces);

#endif
