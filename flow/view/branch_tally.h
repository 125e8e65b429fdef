/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts branches that were taken and those that were not: what counts is where the flow goes on. */
#ifndef FLOW_VIEW_BRANCH_TALLY_H
#define FLOW_VIEW_BRANCH_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "flow/engine/flow.h"

/* Where flow goes on: a block, or an event that may say where it would have. */
struct flow_branch_landing {
	bool valid;
	bool known; /* ip is */
	uint64_t ip;
};

/* A branch whose block is the last so far. */
struct flow_branch_pending {
	bool valid;
	uint8_t kind;
	uint64_t next_ip; /* behind it */
};

/* Zero-initialised is a tally of no flow. Of a conditional branch behind which a gap comes nothing is known. */
struct flow_branch_tally {
	uint64_t taken;
	uint64_t not_taken;
	struct flow_branch_landing first;
	struct flow_branch_pending last;
};

/* Adds flow that comes next. */
void flow_branch_tally_add(struct flow_branch_tally *tally, const struct flow_batch *batch);
/* Adds what a tally of the flow behind this one has. */
void flow_branch_tally_join(struct flow_branch_tally *tally, const struct flow_branch_tally *next);
/* For files of shards: the reader fails where a tally cannot be like this. */
void flow_branch_tally_write(const struct flow_branch_tally *tally, struct ptl_bytes *record);
void flow_branch_tally_read(struct flow_branch_tally *tally, struct common_cursor *record);

#endif
