/* SPDX-License-Identifier: BSD-2-Clause */
/* Executed addresses whose code nobody could name or has, ranked by how much they hurt. */
#ifndef FLOW_VIEW_UNMAPPED_H
#define FLOW_VIEW_UNMAPPED_H

#include "flow/view/view.h"

/* A range of pages in a process that executed but that no image covers, or one without its bytes. */
struct flow_unmapped {
	uint32_t process; /* index in the timeline, FLOW_NONE */
	uint32_t pid;
	uint32_t image; /* the one whose bytes are missing, if those were asked for; FLOW_NONE */
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

/*
 * Pages next to each other, in one process and with has_code alike, make one range. in_images: also where code is missing in
 * images that have a name.
 */
int flow_unmapped_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
		      const struct flow_view_options *options, bool in_images, struct flow_unmapped_list *list);
void flow_unmapped_free(struct flow_unmapped_list *list);

#endif
