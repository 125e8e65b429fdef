/* SPDX-License-Identifier: BSD-2-Clause */
/* Transfers within runs of blocks: found once for each run, then copied. */
#ifndef ANALYSIS_CALL_TRANSFER_RUN_H
#define ANALYSIS_CALL_TRANSFER_RUN_H

#include "analysis/call/transfer.h"
#include "common/hash_map.h"
#include "common/number_table.h"

/* A run, from its first block on. Half a cache line. */
struct analysis_transfer_run {
	uint64_t ip;           /* of the first block */
	uint32_t instructions; /* executed after the last transfer; without transfers: all */
	uint32_t from;         /* home of the first block */
	uint32_t to;           /* home of the last block */
	uint32_t
		function; /* function for calls to the first block; ANALYSIS_NO_FUNCTION: not plain, or unknown so far */
	int32_t behind;   /* offset from `ip` to the address after the last branch */
	/*
	 * index of the first transfer in the list, from 1; 0: the run has no transfers, and needs no time of its blocks
	 */
	uint32_t list : 20;
	uint32_t count : 6;  /* number of transfers */
	uint32_t branch : 4; /* enum flow_branch of the last block */
	uint32_t starts : 1; /* a symbol begins at the first block */
	uint32_t stub : 1;   /* the run is a PLT entry */
};

/* A call site in runs: a place with its target. Calls of a site have these values in common. */
struct analysis_call_site {
	uint64_t address; /* this member and those below: as in struct analysis_transfer */
	uint64_t to;
	uint32_t function;
	uint16_t function_flags;
	uint16_t flags;
};

#define ANALYSIS_TRANSFER_RUN_COUNT 63u /* maximum number of transfers of a run */

/* Zero-initialised: empty. */
struct analysis_transfer_runs {
	uint32_t process;
	uint32_t base; /* tags of runs follow this number, in order; 0: not used yet */
	struct analysis_transfer_run *runs;
	size_t count, capacity;
	struct analysis_transfer *list;
	size_t list_count, list_capacity;
	struct analysis_call_site *sites; /* includes number 0, which is none */
	uint32_t site_count, site_capacity;
	struct common_number_table site_numbers;
	struct analysis_transfers draft;    /* transfers of the current run */
	struct common_byte_map homes;       /* numbers of places, from 1 */
	struct analysis_code_place *places; /* indexed by number - 1 */
	size_t place_count, place_capacity;
};

/* The tag of a run that was executed once: many runs never repeat. */
#define ANALYSIS_TRANSFER_RUN_MET 1u

void analysis_transfer_runs_free(struct analysis_transfer_runs *runs);
/* Prepares for runs of the process: forgets runs of other processes. */
void analysis_transfer_runs_begin(struct analysis_transfer_runs *runs, uint32_t process);
/* Finds or assigns the number of a place. Numbers are never reused. Returns 0 or PTL_NO_MEMORY. */
int analysis_transfer_runs_home(struct analysis_transfer_runs *runs, const struct analysis_code_place *place,
				uint32_t *home_number);
/*
 * Adds a run with the transfers in `draft`. lands: the run needs the time of its blocks. If too many runs exist,
 * forgets all other runs; their tags become invalid. Returns 0 or PTL_NO_MEMORY.
 */
int analysis_transfer_runs_add(struct analysis_transfer_runs *runs, const struct analysis_transfer_run *run, bool lands,
			       uint32_t *tag);

/* Returns the run of a tag, valid until the next run is added; NULL: unknown. */
static inline struct analysis_transfer_run *analysis_transfer_run_find(const struct analysis_transfer_runs *runs,
								       uint32_t tag)
{
	return tag > runs->base && tag - runs->base <= runs->count ? &runs->runs[tag - runs->base - 1] : NULL;
}

/* Returns the first transfer of a run with run->list. */
static inline const struct analysis_transfer *analysis_transfer_run_list(const struct analysis_transfer_runs *runs,
									 const struct analysis_transfer_run *run)
{
	return runs->list + run->list - 1;
}

/* Returns the place with this number. */
static inline const struct analysis_code_place *analysis_transfer_run_place(const struct analysis_transfer_runs *runs,
									    uint32_t home_number)
{
	return &runs->places[home_number - 1];
}

#endif
