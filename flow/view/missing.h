/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of missing flow, for views of existing flow. */
#ifndef FLOW_VIEW_MISSING_H
#define FLOW_VIEW_MISSING_H

#include "flow/view/gap_list.h"

#define FLOW_MISSING_LISTED 20 /* maximum number of listed gaps */

/* The sums. Zero-initialised, the sums are empty. */
struct flow_missing {
	uint64_t pt_bytes; /* bytes of all packets, decoded or not */
	uint64_t gaps;
	uint64_t gap_causes[FLOW_GAP_COUNT]; /* number of gaps, by cause */
	uint64_t gap_bytes[FLOW_GAP_COUNT];  /* skipped PT bytes, by cause */
	struct flow_gap_list list;           /* first gaps */
};

static inline void flow_missing_free(struct flow_missing *missing)
{
	flow_gap_list_free(&missing->list);
}

/* Adds a gap. Returns PTL_NO_MEMORY. */
int flow_missing_add_gap(struct flow_missing *missing, const struct flow_segment *segment,
			 const struct flow_event *event);
/* Adds the sums of the flow that follows. Returns PTL_NO_MEMORY. */
int flow_missing_join(struct flow_missing *missing, const struct flow_missing *more);

void flow_missing_write(const struct flow_missing *missing, struct ptl_bytes *record);
/* Reads the sums of this segment. Returns PTL_NO_MEMORY. The cursor fails for an invalid gap. */
int flow_missing_read(struct flow_missing *missing, const struct flow_segment *segment, struct common_cursor *record);

#endif
