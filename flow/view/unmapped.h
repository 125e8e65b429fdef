/* SPDX-License-Identifier: BSD-2-Clause */
/* Executed addresses that no image covers, ranked by how much they hurt. */
#ifndef FLOW_VIEW_UNMAPPED_H
#define FLOW_VIEW_UNMAPPED_H

#include "flow/view/view.h"

/* A range of pages in a process that executed but that no image covers. */
struct flow_unmapped {
	uint32_t process; /* index in the timeline, FLOW_NONE */
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

struct flow_unmapped_list {
	struct flow_unmapped *ranges; /* by gap_bytes, then gaps, then instructions, most first */
	size_t count;
};

/* Pages next to each other, in one process and with has_code alike, make one range. */
int flow_unmapped_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
		      const struct flow_view_options *options, struct flow_unmapped_list *list);
void flow_unmapped_free(struct flow_unmapped_list *list);

#endif
