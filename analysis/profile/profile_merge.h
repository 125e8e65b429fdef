/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds up the counts of all workers in a profile. A profile identifies blocks by their files. */
#ifndef ANALYSIS_PROFILE_PROFILE_MERGE_H
#define ANALYSIS_PROFILE_PROFILE_MERGE_H

#include "analysis/profile/profile.h"
#include "analysis/profile/profile_table.h"

/* Result of a branch between two segments. */
struct analysis_border {
	struct analysis_block_id from, to; /* `to` is zero without an edge */
	uint64_t count;                    /* count of the edge */
	uint64_t taken, not_taken;
};

/* Merges the tables, and takes ownership of their bytes. Returns PTL_NO_MEMORY. */
int analysis_profile_merge(const struct flow_timeline *timeline, struct analysis_profile_table *tables,
			   size_t table_count, const struct analysis_border *borders, size_t border_count,
			   struct analysis_profile *profile);

#endif
