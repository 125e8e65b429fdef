/* SPDX-License-Identifier: BSD-2-Clause */
/* What flow says about calls: where it left a function or came into one, with all that lies between left out. */
#ifndef DUMP_CALL_TRANSFER_H
#define DUMP_CALL_TRANSFER_H

#include <stddef.h>
#include <stdint.h>

#include "dump/function/function_table.h"
#include "flow/engine/engine.h"
#include "flow/segment/segment.h"

enum dump_transfer_kind {
	DUMP_TRANSFER_CALL = 1,   /* to `to`, from where `address` is behind */
	DUMP_TRANSFER_RETURN,     /* to `to` */
	DUMP_TRANSFER_JUMP,       /* into another function, or another file's code without names */
	DUMP_TRANSFER_FAR_CALL,   /* into the kernel, or from `address` on a system call that is not in the trace */
	DUMP_TRANSFER_FAR_RETURN, /* out of it, to `to` */
	DUMP_TRANSFER_INTERRUPT,  /* `to` came instead of the instruction at `address` */
	DUMP_TRANSFER_PAUSE,      /* what follows is not traced; it would go on at `address` (0: not known) */
	DUMP_TRANSFER_RESUME,     /* tracing goes on at `to` */
	DUMP_TRANSFER_GAP,        /* flow is missing */
	DUMP_TRANSFER_GO_ON,      /* the flow goes on at `to`, from a place that is not known */
	DUMP_TRANSFER_LEAF, /* a CALL of a plain function, and its RETURN: it called nothing, and no time went by */
};

#define DUMP_TRANSFER_START 0x01u    /* a symbol begins at `to` */
#define DUMP_TRANSFER_INDIRECT 0x02u /* JUMP: its target is not in the code */
#define DUMP_TRANSFER_OUTSIDE 0x04u  /* `to` is not traced, only known (0: not even that) */
#define DUMP_TRANSFER_KERNEL 0x08u   /* PAUSE: for a system call, an interrupt or an exception */
#define DUMP_TRANSFER_FOREIGN 0x10u  /* JUMP: into another image */

struct dump_transfer {
	uint64_t time; /* trace clock, of what comes behind it; 0 unknown */
	uint64_t to;
	uint64_t address;
	uint32_t instructions; /* executed since the transfer before */
	uint32_t function;     /* that covers `to`; of a CALL always one; else DUMP_NO_FUNCTION where no symbol does */
	uint32_t image;        /* of `to` */
	uint32_t inside;       /* LEAF: instructions of the function */
	uint8_t kind;
	uint8_t flags;
	uint16_t function_flags; /* of its place */
	uint32_t
		site; /* of a run's CALL or LEAF: the number of all that lead from the same place to the same one; else 0 */
};

/* Transfers of one segment. Zero-initialised is empty. */
struct dump_transfers {
	struct dump_transfer *list; /* owned */
	size_t count, capacity;
	size_t fixed; /* so many are not changed any more */
	bool noted;   /* all behind these are what was put since the tracker was in a state, which then had: */
	uint64_t noted_instructions;
};

void dump_transfers_free(struct dump_transfers *transfers);

/* Places that one worker has looked up. For one thread at a time. NULL without memory. */
struct dump_place_cache;
struct dump_place_cache *dump_place_cache_new(const struct flow_timeline *timeline, struct dump_function_table *table,
					      uint64_t start_time);
void dump_place_cache_free(struct dump_place_cache *cache);

/* A block whose branch leads to what comes next. */
struct dump_leaving {
	uint64_t behind; /* the address behind the branch */
	uint8_t branch;  /* enum flow_branch */
	bool valid;      /* there is a block before, and nothing between */
};

/* The first thing of a segment that tells where flow goes on: what it means depends on the segment before. */
struct dump_first {
	bool valid;
	bool is_event;
	uint32_t image; /* of a block */
	uint64_t ip;
	uint64_t time;
	struct flow_event event;
};

/* Where flow stands between batches. A segment begins with one that is zero. */
struct dump_tracker {
	struct dump_code_place place; /* of the last block */
	struct dump_leaving leaving;
	bool placed;           /* place holds */
	uint32_t home;         /* not 0: instead of place, the number of the place that the worker's runs have */
	uint64_t instructions; /* since the last transfer */
	uint64_t time;         /* of the last block or event */
	struct dump_first first;
};

/* Adds what a batch has of transfers, but for the first, which is left in tracker->first. PTL_NO_MEMORY. */
int dump_transfers_add(struct dump_transfers *transfers, struct dump_tracker *tracker, struct dump_place_cache *cache,
		       const struct flow_segment *segment, const struct flow_batch *batch);
/* Adds what a step has of them. PTL_NO_MEMORY. */
int dump_transfers_step(struct dump_transfers *transfers, struct dump_tracker *tracker, struct dump_place_cache *cache,
			const struct flow_segment *segment, const struct flow_step *step, uint32_t *home);
/* Adds the transfers (none or some) from the end of the segment before to the first thing of this one. PTL_NO_MEMORY. */
int dump_transfers_join(struct dump_transfers *transfers, const struct dump_tracker *before,
			const struct dump_first *first, struct dump_place_cache *cache,
			const struct flow_segment *segment);

#endif
