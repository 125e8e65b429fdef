/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps: an alternative to batches for a consumer that needs few runs of blocks. */
#ifndef FLOW_ENGINE_STEP_H
#define FLOW_ENGINE_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/engine/flow.h"

/* The consumer's notes about a run; 0 at first. */
struct flow_step_marks {
	/*
	 * Number of the consumer's home for this run, such as the current function; 0: none. The engine may pass the
	 * run silently while the consumer is at this home. A run that ends with a return is the last run that is
	 * passed.
	 */
	uint32_t home_number;
	uint32_t tag; /* tag by which the consumer recognises the run */
};

/*
 * A run of blocks, and the sums of the runs passed since the previous step. A step without a run only has the passed
 * runs, and ends a row of steps.
 */
struct flow_step {
	const struct flow_block_run *run;    /* completely executed run; NULL: only passed runs */
	const struct flow_block_run *passed; /* last run passed since the previous step; NULL: no run was passed */
	bool returned;                       /* `passed` ended with a return */
	uint64_t instructions;               /* instructions of all runs passed since the previous step */
	uint64_t time;                       /* time of the run; without a run, time of the last run; 0 unknown */
	struct flow_step_marks *marks;       /* marks of the run */
};

#endif
