/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds the counts of all workers up to a profile, in which blocks are known by what their files are. */
#ifndef FLOW_VIEW_PROFILE_MERGE_H
#define FLOW_VIEW_PROFILE_MERGE_H

#include "flow/view/profile.h"
#include "flow/view/profile_table.h"

/* What became of a branch at the end of segments. */
struct flow_border {
	struct flow_block_id from, to; /* to: of an edge; else zero */
	uint64_t count;                /* of an edge */
	uint64_t taken, not_taken;
};

/* Takes over the tables' bytes. PTL_NO_MEMORY. */
int flow_profile_merge(const struct flow_timeline *timeline, struct flow_profile_table *tables, size_t table_count,
		       const struct flow_border *borders, size_t border_count, struct flow_profile *profile);

#endif
