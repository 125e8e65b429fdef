/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cached lookups of one worker: places in code, and transfers within runs of blocks. Only for code that finds
 * transfers.
 */
#ifndef ANALYSIS_CALL_PLACE_CACHE_H
#define ANALYSIS_CALL_PLACE_CACHE_H

#include "analysis/call/call_totals.h"
#include "analysis/call/transfer_run.h"

struct analysis_cached_place {
	struct analysis_code_place place;
	uint64_t address;
	uint32_t process;
	uint32_t entry; /* function for calls to this address; ANALYSIS_NO_FUNCTION: not looked up yet */
	bool valid;
};

struct analysis_place_cache {
	const struct flow_timeline *timeline;
	struct analysis_function_table *table;
	uint64_t start_time;
	struct analysis_cached_place *slots;
	struct analysis_transfer_runs runs;
	struct analysis_summary_tree tree;
	struct analysis_totals totals;
};

/*
 * Returns the place at an address, valid until the next call. Returns NULL after a failure, with the error in *status.
 */
struct analysis_cached_place *analysis_place_cache_find(struct analysis_place_cache *cache, uint32_t process,
							uint32_t image, uint64_t address, int *status);
/* Sets tracker->place from tracker->home_number. */
static inline void analysis_tracker_settle(struct analysis_tracker *tracker, const struct analysis_place_cache *cache)
{
	if (tracker->home_number)
		tracker->place = *analysis_transfer_run_place(&cache->runs, tracker->home_number);
	tracker->home_number = 0;
}

/* Moves the tracker to the end of a run, after its last transfer. */
static inline void analysis_tracker_end_run(struct analysis_tracker *tracker, const struct analysis_transfer_run *known)
{
	tracker->home_number = known->to;
	tracker->instructions += known->instructions;
	tracker->leaving = (struct analysis_leaving){known->ip + (uint64_t)(int64_t)known->behind,
						     (uint8_t)known->branch, true};
}

#endif
