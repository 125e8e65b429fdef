/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of whole runs of blocks, which are added to the blocks' own counts in the end. */
#ifndef FLOW_VIEW_PROFILE_RUN_H
#define FLOW_VIEW_PROFILE_RUN_H

#include "flow/view/profile_table.h"

/* A run that was met in batches of one generation. One cache line. */
struct flow_profile_run {
	const struct flow_block_run *run; /* NULL: a free place; not to be looked into */
	uint64_t count;
	uint64_t taken, not_taken; /* of the branch at its end */
	uint64_t first_ip;
	uint64_t next_ip; /* behind its end */
	uint32_t first;   /* in the table's list: the entries of its blocks */
	uint32_t blocks;
	uint32_t last; /* the last block's entry */
	uint8_t branch;
};

#define FLOW_PROFILE_RUNS (1u << 15) /* a power of two */

/* Zero-initialised is empty; memory comes with the first run. */
struct flow_profile_runs {
	uint64_t generation;
	struct flow_profile_run *places; /* FLOW_PROFILE_RUNS */
	uint32_t *used;                  /* indexes of those that are */
	size_t used_count;
	uint32_t *list; /* of entries */
	size_t list_count;
};

void flow_profile_runs_free(struct flow_profile_runs *runs);
/* Adds all counts to the entries of the table, with edges if they are wanted, and is empty then. PTL_NO_MEMORY. */
int flow_profile_runs_flush(struct flow_profile_runs *runs, struct flow_profile_table *table, bool edges);
/* Whether it has to be flushed before this run is added. */
bool flow_profile_runs_full(const struct flow_profile_runs *runs, const struct flow_block_run *run);
/* Whether a run is too long to be kept. */
bool flow_profile_run_is_long(const struct flow_block_run *run);
/* Puts the run into a free place. PTL_NO_MEMORY. */
int flow_profile_runs_add(struct flow_profile_runs *runs, struct flow_profile_table *table,
			  const struct flow_block_run *run, struct flow_profile_run *place);

static inline struct flow_profile_run *flow_profile_run_first(const struct flow_profile_runs *runs,
							      const struct flow_block_run *run)
{
	return &runs->places[((uintptr_t)run >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 49];
}

/* The run's place; a free one where it was not met. There always is one. */
static inline struct flow_profile_run *flow_profile_run_find(const struct flow_profile_runs *runs,
							     const struct flow_block_run *run)
{
	struct flow_profile_run *place = flow_profile_run_first(runs, run);

	while (place->run && place->run != run)
		place = place + 1 < runs->places + FLOW_PROFILE_RUNS ? place + 1 : runs->places;
	return place;
}

#endif
