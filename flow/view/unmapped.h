/* SPDX-License-Identifier: BSD-2-Clause */
/* Executed addresses that no image covers, ranked by how much they hurt. */
#ifndef PTL_FLOW_VIEW_UNMAPPED_H
#define PTL_FLOW_VIEW_UNMAPPED_H

#include "flow/view/view.h"

/* A range of pages in a process that executed but that no image covers. */
struct ptl_unmapped {
	uint32_t process; /* index in the timeline, PTL_NONE */
	uint32_t pid;
	uint64_t first; /* lowest and highest address seen, inclusive */
	uint64_t last;
	bool has_code;         /* its bytes are in the trace (code events), so it was decoded */
	uint64_t instructions; /* executed there, where they could be decoded */
	uint64_t gaps;         /* times that decoding stopped there */
	uint64_t gap_bytes;    /* PT bytes that could not be decoded for that */
	uint64_t first_time;   /* 0 unknown */
	uint64_t last_time;
};

struct ptl_unmapped_list {
	struct ptl_unmapped *ranges; /* by gap_bytes, then gaps, then instructions, most first */
	size_t count;
};

/* Pages next to each other, in one process and with has_code alike, make one range. */
int ptl_unmapped_run(struct ptl_trace *trace, const struct ptl_timeline *timeline,
		     const struct ptl_view_options *options, struct ptl_unmapped_list *list);
void ptl_unmapped_free(struct ptl_unmapped_list *list);

#endif
