/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cached lookups of one worker: places in code, and transfers within runs of blocks. Only for code that finds
 * transfers.
 */
#ifndef DUMP_CALL_PLACE_CACHE_H
#define DUMP_CALL_PLACE_CACHE_H

#include "dump/call/call_totals.h"
#include "dump/call/transfer_run.h"
#include "dump/call/transfer_script.h"

struct dump_cached_place {
	struct dump_code_place place;
	uint64_t address;
	uint32_t process;
	uint32_t entry; /* function for calls to this address; DUMP_NO_FUNCTION: not looked up yet */
	bool valid;
};

struct dump_place_cache {
	const struct flow_timeline *timeline;
	struct dump_function_table *table;
	uint64_t start_time;
	struct dump_cached_place *slots;
	struct dump_transfer_runs runs;
	struct dump_summary_tree tree;
	struct dump_totals totals;
	struct dump_scripts scripts;
};

/*
 * Returns the place at an address, valid until the next call. Returns NULL after a failure, with the error in *status.
 */
struct dump_cached_place *dump_place_cache_find(struct dump_place_cache *cache, uint32_t process, uint32_t image,
						uint64_t address, int *status);
/* Sets tracker->place from tracker->home_number. */
static inline void dump_tracker_settle(struct dump_tracker *tracker, const struct dump_place_cache *cache)
{
	if (tracker->home_number)
		tracker->place = *dump_transfer_run_place(&cache->runs, tracker->home_number);
	tracker->home_number = 0;
}

/* Sets tracker->leaving after passed runs, which ended with neither a call nor a return. */
void dump_tracker_leave_passed(struct dump_tracker *tracker, const struct flow_step *step);

/* Moves the tracker to the end of a run, after its last transfer. */
static inline void dump_tracker_end_run(struct dump_tracker *tracker, const struct dump_transfer_run *known)
{
	tracker->home_number = known->to;
	tracker->instructions += known->instructions;
	tracker->leaving = (struct dump_leaving){known->ip + (uint64_t)(int64_t)known->behind, (uint8_t)known->branch,
						 true};
}

#endif
