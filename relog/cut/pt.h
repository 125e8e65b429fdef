/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a stream of Intel PT is cut so that a span of time decodes as it did in the whole. */
#ifndef RELOG_CUT_PT_H
#define RELOG_CUT_PT_H

#include <ptl/reader.h>

struct relog_cut_range {
	bool any;       /* something of the stream is needed */
	bool all;       /* all of it is */
	uint64_t first; /* position of a PSB, or of the stream's first byte */
	uint64_t end;   /* exclusive; behind the PSB+ that follows the last segment; UINT64_MAX: the stream's end */
	uint64_t first_time; /* from when on the state has to be known; 0: from the start */
	uint64_t last_time;  /* up to when decoding may look at it; UINT64_MAX: to the end */
};

/*
 * The segments (from one PSB to the next) that may overlap [from, to], both inclusive, in the trace's own clock, as
 * ptl-dump --time takes them. What has no known time may. PTL_NO_MEMORY, PTL_SYSTEM.
 */
int relog_cut_pt_range(struct ptl_trace *trace, const struct ptl_stream *stream, uint64_t from, uint64_t to,
		       struct relog_cut_range *range);

#endif
