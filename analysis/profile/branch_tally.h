/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts taken and not taken branches, by the place where flow continues. */
#ifndef ANALYSIS_PROFILE_BRANCH_TALLY_H
#define ANALYSIS_PROFILE_BRANCH_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "flow/engine/flow.h"

/* Place where flow continues: a block, or an event that may give the address. */
struct analysis_branch_landing {
	bool valid;
	bool known; /* `ip` is known */
	uint64_t ip;
};

/* A branch at the end of the flow so far. */
struct analysis_branch_pending {
	bool valid;
	uint8_t kind;
	uint64_t next_ip; /* address behind the branch */
};

/* The tally. Zero-initialised, the tally is empty. A conditional branch before a gap is neither taken nor not taken. */
struct analysis_branch_tally {
	uint64_t taken;
	uint64_t not_taken;
	struct analysis_branch_landing first;
	struct analysis_branch_pending last;
};

/* Adds the flow that follows. */
void analysis_branch_tally_add(struct analysis_branch_tally *tally, const struct flow_batch *batch);
/* Adds the tally of the flow that follows. */
void analysis_branch_tally_join(struct analysis_branch_tally *tally, const struct analysis_branch_tally *next);
/* Write and read a tally, for files of shards. The cursor fails if the record is no valid tally. */
void analysis_branch_tally_write(const struct analysis_branch_tally *tally, struct ptl_bytes *record);
void analysis_branch_tally_read(struct analysis_branch_tally *tally, struct common_cursor *record);

#endif
