/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of missing flow, for views of existing flow. */
#ifndef ANALYSIS_PROFILE_MISSING_H
#define ANALYSIS_PROFILE_MISSING_H

#include "analysis/profile/gap_list.h"

#define ANALYSIS_MISSING_LISTED 20 /* maximum number of listed gaps */

/* The sums. Zero-initialised, the sums are empty. */
struct analysis_missing {
	uint64_t pt_bytes; /* bytes of all packets, decoded or not */
	uint64_t gaps;
	uint64_t gap_causes[FLOW_GAP_COUNT]; /* number of gaps, by cause */
	uint64_t gap_bytes[FLOW_GAP_COUNT];  /* skipped PT bytes, by cause */
	struct analysis_gap_list list;       /* first gaps */
};

static inline void analysis_missing_free(struct analysis_missing *missing)
{
	analysis_gap_list_free(&missing->list);
}

/* Adds a gap. Returns PTL_NO_MEMORY. */
int analysis_missing_add_gap(struct analysis_missing *missing, const struct flow_segment *segment,
			     const struct flow_event *event);
/* Adds the sums of the flow that follows. Returns PTL_NO_MEMORY. */
int analysis_missing_join(struct analysis_missing *missing, const struct analysis_missing *more);

void analysis_missing_write(const struct analysis_missing *missing, struct ptl_bytes *record);
/* Reads the sums of this segment. Returns PTL_NO_MEMORY. The cursor fails for an invalid gap. */
int analysis_missing_read(struct analysis_missing *missing, const struct flow_segment *segment,
			  struct common_cursor *record);

#endif
