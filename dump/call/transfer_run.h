/* SPDX-License-Identifier: BSD-2-Clause */
/* The transfers within runs of blocks, which are found once for each run and then copied. */
#ifndef DUMP_ANALYSIS_TRANSFER_RUN_H
#define DUMP_ANALYSIS_TRANSFER_RUN_H

#include "common/hash.h"
#include "dump/call/transfer.h"

/* A run, where flow has come to its first block. Half a cache line. */
struct dump_transfer_run {
	const struct flow_block_run *run; /* NULL: a free slot; not to be looked into */
	uint64_t ip;                      /* of the first block, */
	uint32_t image;                   /* and its image */
	uint32_t instructions : 22;       /* behind the last transfer; where there is none, all */
	uint32_t blocks : 10;
	uint32_t more : 28;  /* number in `more`; 0: the run has no transfer, and does not leave its place */
	uint32_t branch : 4; /* at the end */
	int32_t behind;      /* from ip to behind that branch */
};

/* What some runs have besides. */
struct dump_transfer_run_more {
	uint32_t transfers; /* number of the first in the list */
	uint32_t count;
	bool lands;                  /* flow was looked at behind the first block, so that the tracker has its time */
	struct dump_code_place last; /* the place at the end */
};

/* Zero-initialised is empty; memory comes with the first run. */
struct dump_transfer_runs {
	uint64_t generation; /* of the batches that have them */
	uint32_t process;
	struct dump_transfer_run *slots;
	uint16_t *met;  /* by slot: a tag of the last run that was met there */
	uint32_t *used; /* indexes of those that are */
	size_t used_count;
	struct dump_transfer_run_more *more; /* from 1 on */
	size_t more_count;
	struct dump_transfer *list;
	size_t list_count;
	struct dump_transfers draft; /* of the run at hand */
};

#define DUMP_TRANSFER_RUNS_SHIFT 15
/* Of a run that has a slot. */
#define DUMP_TRANSFER_RUN_BLOCKS ((1u << 10) - 1)
#define DUMP_TRANSFER_RUN_INSTRUCTIONS ((1u << 22) - 1)

void dump_transfer_runs_free(struct dump_transfer_runs *runs);
/* Makes it one of runs of these batches: forgets those of others. PTL_NO_MEMORY. */
int dump_transfer_runs_begin(struct dump_transfer_runs *runs, uint64_t generation, uint32_t process);
/* Forgets all where there is no room for a run with so many transfers. */
void dump_transfer_runs_make_room(struct dump_transfer_runs *runs, size_t count);
/* Adds a run, which is not known. More: NULL, or what it has, with the draft's transfers. There is room. */
const struct dump_transfer_run *dump_transfer_runs_add(struct dump_transfer_runs *runs, struct dump_transfer_run known,
						       const struct dump_transfer_run_more *more);

static inline struct dump_transfer_run *dump_transfer_run_first(const struct dump_transfer_runs *runs,
								const struct flow_block_run *run)
{
	return &runs->slots[common_hash_high((uintptr_t)run >> 4, DUMP_TRANSFER_RUNS_SHIFT)];
}

/* Whether the run was met before, as far as is known: many are met once, and not worth a slot. */
static inline bool dump_transfer_run_met(const struct dump_transfer_runs *runs, const struct flow_block_run *run)
{
	const uint64_t mixed = common_hash_mix((uintptr_t)run >> 4);
	uint16_t *met = &runs->met[mixed >> (64 - DUMP_TRANSFER_RUNS_SHIFT)];
	const uint16_t tag = (uint16_t)(mixed >> 16);
	const bool is = *met == tag;

	*met = tag;
	return is;
}

/* The slot of the run, a free one where it is not known. There always is one. */
static inline struct dump_transfer_run *dump_transfer_run_find(const struct dump_transfer_runs *runs,
							       const struct flow_block_run *run)
{
	struct dump_transfer_run *slot = dump_transfer_run_first(runs, run);

	while (slot->run && slot->run != run)
		slot = slot + 1 < runs->slots + (1u << DUMP_TRANSFER_RUNS_SHIFT) ? slot + 1 : runs->slots;
	return slot;
}

#endif
