/* SPDX-License-Identifier: BSD-2-Clause */
/* Executed addresses whose code has no name or is missing, ranked by their damage to the flow. */
#ifndef ANALYSIS_PROFILE_UNMAPPED_H
#define ANALYSIS_PROFILE_UNMAPPED_H

#include "flow/view/view.h"

/* A range of executed pages in a process. No image covers the pages, or the image's bytes are missing. */
struct analysis_unmapped {
	uint32_t process; /* index in the timeline, FLOW_NONE */
	uint32_t pid;
	uint32_t image; /* image whose bytes are missing, if wanted; FLOW_NONE */
	uint64_t first; /* lowest and highest executed address, inclusive */
	uint64_t last;
	bool has_code;         /* the bytes are in the trace (code events), and were decoded */
	uint64_t instructions; /* number of decoded instructions */
	uint64_t gaps;         /* number of times that decoding stopped in the range */
	uint64_t gap_bytes;    /* PT bytes lost to these gaps */
	uint64_t first_time;   /* 0 unknown */
	uint64_t last_time;
};

struct analysis_unmapped_list {
	struct analysis_unmapped *ranges; /* in descending order of gap_bytes, then gaps, then instructions */
	size_t count;
};

/*
 * Finds the ranges. Adjacent pages with equal process and has_code are one range. in_images: also lists missing code of
 * named images.
 */
int analysis_unmapped_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
			  const struct flow_view_options *options, bool in_images, struct analysis_unmapped_list *list);
void analysis_unmapped_free(struct analysis_unmapped_list *list);

#endif
