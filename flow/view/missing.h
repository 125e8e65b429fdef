/* SPDX-License-Identifier: BSD-2-Clause */
/* What flow was not made of: for views that go on to tell what is there. */
#ifndef FLOW_VIEW_MISSING_H
#define FLOW_VIEW_MISSING_H

#include "flow/view/gap_list.h"

#define FLOW_MISSING_LISTED 20 /* gaps */

/* Zero-initialised is empty. */
struct flow_missing {
	uint64_t pt_bytes; /* of all packets, also where there is flow */
	uint64_t gaps;
	uint64_t gap_causes[FLOW_GAP_COUNT]; /* gaps of each cause */
	uint64_t gap_bytes[FLOW_GAP_COUNT];  /* PT bytes that were skipped for each cause */
	struct flow_gap_list list;           /* the first ones */
};

static inline void flow_missing_free(struct flow_missing *missing)
{
	flow_gap_list_free(&missing->list);
}

/* PTL_NO_MEMORY. */
int flow_missing_add_gap(struct flow_missing *missing, const struct flow_segment *segment,
			 const struct flow_event *event);
/* What comes next. PTL_NO_MEMORY. */
int flow_missing_join(struct flow_missing *missing, const struct flow_missing *more);

void flow_missing_write(const struct flow_missing *missing, struct ptl_bytes *record);
/* Of this segment. PTL_NO_MEMORY; the cursor fails where there is no such gap. */
int flow_missing_read(struct flow_missing *missing, const struct flow_segment *segment, struct common_cursor *record);

#endif
