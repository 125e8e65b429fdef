/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of complete runs of blocks. These counts are added to the blocks' counts at the end. */
#ifndef ANALYSIS_PROFILE_PROFILE_RUN_H
#define ANALYSIS_PROFILE_PROFILE_RUN_H

#include "analysis/profile/profile_table.h"

/* A run in batches of one generation, in one cache line. */
struct analysis_profile_run {
	const struct flow_block_run *run; /* NULL: a free place; never dereferenced */
	uint64_t count;
	uint64_t taken, not_taken; /* counts of the branch at the run's end */
	uint64_t first_ip;
	uint64_t next_ip; /* address behind the run's end */
	uint32_t first;   /* index of the run's first entry in the list */
	uint32_t blocks;
	uint32_t last; /* entry of the last block */
	uint8_t branch;
};

#define ANALYSIS_PROFILE_RUNS (1u << 15) /* a power of two */

/* The counts. Zero-initialised, empty. Memory is allocated with the first run. */
struct analysis_profile_runs {
	uint64_t generation;
	struct analysis_profile_run *places; /* ANALYSIS_PROFILE_RUNS elements */
	uint32_t *used;                      /* indexes of used places */
	size_t used_count;
	uint32_t *list; /* list of entries */
	size_t list_count;
};

void analysis_profile_runs_free(struct analysis_profile_runs *runs);
/* Adds all counts to the table's entries, and to edges if wanted. Empties the counts. Returns PTL_NO_MEMORY. */
int analysis_profile_runs_flush(struct analysis_profile_runs *runs, struct analysis_profile_table *table, bool edges);
/* Checks whether the counts must be flushed before the run is added. */
bool analysis_profile_runs_full(const struct analysis_profile_runs *runs, const struct flow_block_run *run);
/* Checks whether a run is too long to be recorded. */
bool analysis_profile_run_is_long(const struct flow_block_run *run);
/* Stores the run in a free place. Returns PTL_NO_MEMORY. */
int analysis_profile_runs_add(struct analysis_profile_runs *runs, struct analysis_profile_table *table,
			      const struct flow_block_run *run, struct analysis_profile_run *place);

static inline struct analysis_profile_run *analysis_profile_run_first(const struct analysis_profile_runs *runs,
								      const struct flow_block_run *run)
{
	return &runs->places[((uintptr_t)run >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 49];
}

/* Returns the run's place, or a free place for a new run. A free place always exists. */
static inline struct analysis_profile_run *analysis_profile_run_find(const struct analysis_profile_runs *runs,
								     const struct flow_block_run *run)
{
	struct analysis_profile_run *place = analysis_profile_run_first(runs, run);

	while (place->run && place->run != run)
		place = place + 1 < runs->places + ANALYSIS_PROFILE_RUNS ? place + 1 : runs->places;
	return place;
}

#endif
