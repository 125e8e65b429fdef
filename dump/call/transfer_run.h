/* SPDX-License-Identifier: BSD-2-Clause */
/* The transfers within runs of blocks, which are found once for each run and then copied. */
#ifndef DUMP_CALL_TRANSFER_RUN_H
#define DUMP_CALL_TRANSFER_RUN_H

#include "common/hash_map.h"
#include "common/number_table.h"
#include "dump/call/transfer.h"

/* A run, where flow has come to its first block. Half a cache line. */
struct dump_transfer_run {
	uint64_t ip;           /* of the first block */
	uint32_t instructions; /* behind the last transfer; where there is none, all */
	uint32_t from;         /* home of the first block, */
	uint32_t to;           /* and of the last one */
	uint32_t
		function; /* for who calls the first block, if it is plain; else, or as long as that is not known, none */
	int32_t behind;   /* from ip to behind the branch at the end */
	/* Its first transfer in the list, from 1 on; 0: it has none, and flow need not be looked at behind the first block */
	uint32_t list : 20;
	uint32_t count : 6;  /* of them */
	uint32_t branch : 4; /* at the end */
	uint32_t starts : 1; /* a symbol begins at the first block */
	uint32_t stub : 1;   /* it is an entry of a PLT */
};

/* Where runs call, and what: all that lead there have this in common. */
struct dump_call_site {
	uint64_t address; /* as of the transfer, and so is the rest */
	uint64_t to;
	uint32_t function;
	uint16_t function_flags;
	uint16_t flags;
};

#define DUMP_TRANSFER_RUN_COUNT 63u /* transfers that a run may have */

/* Zero-initialised is empty. */
struct dump_transfer_runs {
	uint32_t process;
	uint32_t base; /* tags of runs are above, in order; 0: not used yet */
	struct dump_transfer_run *runs;
	size_t count, capacity;
	struct dump_transfer *list;
	size_t list_count, list_capacity;
	struct dump_call_site *sites; /* with number 0, which is none */
	uint32_t site_count, site_capacity;
	struct common_number_table site_numbers;
	struct dump_transfers draft;    /* of the run at hand */
	struct common_byte_map homes;   /* number of each place, from 1 on */
	struct dump_code_place *places; /* by that number, less 1 */
	size_t place_count, place_capacity;
};

/* The tag of a run that was met once: many are not met again. */
#define DUMP_TRANSFER_RUN_MET 1u

void dump_transfer_runs_free(struct dump_transfer_runs *runs);
/* Makes it one of runs of the process: forgets those of others. */
void dump_transfer_runs_begin(struct dump_transfer_runs *runs, uint32_t process);
/* The number of a place, which is never another's. PTL_NO_MEMORY. */
int dump_transfer_runs_home(struct dump_transfer_runs *runs, const struct dump_code_place *place, uint32_t *home);
/*
 * Adds a run, with the draft's transfers; lands: flow was looked at behind the first block, so that the tracker has its time. Forgets
 * all others where there are too many; then their tags find nothing. PTL_NO_MEMORY.
 */
int dump_transfer_runs_add(struct dump_transfer_runs *runs, const struct dump_transfer_run *run, bool lands,
			   uint32_t *tag);

/* NULL: it is not known. The pointer is valid until the next is added. */
static inline struct dump_transfer_run *dump_transfer_run_find(const struct dump_transfer_runs *runs, uint32_t tag)
{
	return tag > runs->base && tag - runs->base <= runs->count ? &runs->runs[tag - runs->base - 1] : NULL;
}

/* The first of the run's transfers, where it has a list. */
static inline const struct dump_transfer *dump_transfer_run_list(const struct dump_transfer_runs *runs,
								 const struct dump_transfer_run *run)
{
	return runs->list + run->list - 1;
}

/* Where the tracker is, as of the last run. */
static inline const struct dump_code_place *dump_transfer_run_place(const struct dump_transfer_runs *runs,
								    uint32_t home)
{
	return &runs->places[home - 1];
}

#endif
