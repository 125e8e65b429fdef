/* SPDX-License-Identifier: BSD-2-Clause */
/* The partial result of a profile: what lies between two segments. For those who count and those who save it alone. */
#ifndef FLOW_VIEW_PROFILE_STATE_H
#define FLOW_VIEW_PROFILE_STATE_H

#include "flow/view/missing.h"
#include "flow/view/profile_run.h"

/* Where a segment's flow begins: with a block, or with an event that may say where it would have gone on. */
struct flow_profile_landing {
	bool valid;
	bool known; /* ip is */
	bool is_block;
	uint64_t ip;
	uint32_t entry; /* of a block, in the worker's table */
	struct flow_block_id id;
};

/* A branch that a segment ends with. */
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
