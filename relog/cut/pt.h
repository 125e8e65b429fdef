/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the range of an Intel PT stream that makes a span of time decode as in the whole trace. */
#ifndef RELOG_CUT_PT_H
#define RELOG_CUT_PT_H

#include <ptl/reader.h>

struct relog_cut_range {
	bool any;            /* some of the stream is needed */
	bool all;            /* the whole stream is needed */
	uint64_t first;      /* offset of a PSB, or of the stream's first byte */
	uint64_t end;        /* exclusive: the end of the PSB+ behind the last segment; UINT64_MAX: end of the stream */
	uint64_t first_time; /* first time whose state decoding needs; 0: start of the trace */
	uint64_t last_time;  /* last time whose state decoding may need; UINT64_MAX: end of the trace */
};

/*
 * Finds the segments (from a PSB to the next) that may overlap [from, to]. Both bounds are inclusive, in the trace's
 * own clock, as in ptl-dump --time. A segment without a known time may overlap. Returns PTL_NO_MEMORY, PTL_SYSTEM.
 */
int relog_cut_pt_range(struct ptl_trace *trace, const struct ptl_stream *stream, uint64_t from, uint64_t to,
		       struct relog_cut_range *range);

#endif
