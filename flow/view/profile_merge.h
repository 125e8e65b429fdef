/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds up the counts of all workers in a profile. A profile identifies blocks by their files. */
#ifndef FLOW_VIEW_PROFILE_MERGE_H
#define FLOW_VIEW_PROFILE_MERGE_H

#include "flow/view/profile.h"
#include "flow/view/profile_table.h"

/* Result of a branch between two segments. */
struct flow_border {
	struct flow_block_id from, to; /* `to` is zero without an edge */
	uint64_t count;                /* count of the edge */
	uint64_t taken, not_taken;
};

/* Merges the tables, and takes ownership of their bytes. Returns PTL_NO_MEMORY. */
int flow_profile_merge(const struct flow_timeline *timeline, struct flow_profile_table *tables, size_t table_count,
		       const struct flow_border *borders, size_t border_count, struct flow_profile *profile);

#endif
