/* SPDX-License-Identifier: BSD-2-Clause */
/* The partial result of a profile: branches between segments. For counting and saving profiles only. */
#ifndef ANALYSIS_PROFILE_PROFILE_STATE_H
#define ANALYSIS_PROFILE_PROFILE_STATE_H

#include "analysis/profile/missing.h"
#include "analysis/profile/profile_run.h"

/* Begin of a segment's flow: a block, or an event that may give the address where flow would have continued. */
struct analysis_profile_landing {
	bool valid;
	bool known; /* `ip` is known */
	bool is_block;
	uint64_t ip;
	uint32_t entry; /* index of the block in the worker's table */
	struct analysis_block_id id;
};

/* A branch at the end of a segment. */
struct analysis_profile_pending {
	bool valid;
	uint8_t branch;
	uint32_t entry;
	uint64_t next_ip;
	struct analysis_block_id id;
};

struct analysis_profile_partial {
	struct analysis_profile_table *table;
	struct analysis_profile_runs *runs;
	struct analysis_profile_landing first;
	struct analysis_profile_pending last;
	struct analysis_missing missing;
};

#endif
