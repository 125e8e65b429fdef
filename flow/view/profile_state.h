/* SPDX-License-Identifier: BSD-2-Clause */
/* The partial result of a profile: branches between segments. For counting and saving profiles only. */
#ifndef FLOW_VIEW_PROFILE_STATE_H
#define FLOW_VIEW_PROFILE_STATE_H

#include "flow/view/missing.h"
#include "flow/view/profile_run.h"

/* Begin of a segment's flow: a block, or an event that may give the address where flow would have continued. */
struct flow_profile_landing {
	bool valid;
	bool known; /* `ip` is known */
	bool is_block;
	uint64_t ip;
	uint32_t entry; /* index of the block in the worker's table */
	struct flow_block_id id;
};

/* A branch at the end of a segment. */
struct flow_profile_pending {
	bool valid;
	uint8_t branch;
	uint32_t entry;
	uint64_t next_ip;
	struct flow_block_id id;
};

struct flow_profile_partial {
	struct flow_profile_table *table;
	struct flow_profile_runs *runs;
	struct flow_profile_landing first;
	struct flow_profile_pending last;
	struct flow_missing missing;
};

#endif
