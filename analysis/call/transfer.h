/* SPDX-License-Identifier: BSD-2-Clause */
/* Transfers: places where the flow leaves or enters a function. All flow between transfers is omitted. */
#ifndef ANALYSIS_CALL_TRANSFER_H
#define ANALYSIS_CALL_TRANSFER_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "analysis/function/function_table.h"
#include "flow/engine/engine.h"
#include "flow/segment/segment.h"

enum analysis_transfer_kind {
	ANALYSIS_TRANSFER_CALL = 1,   /* to `to`; `address`: after the call */
	ANALYSIS_TRANSFER_RETURN,     /* to `to` */
	ANALYSIS_TRANSFER_JUMP,       /* into another function, or into nameless code of another file */
	ANALYSIS_TRANSFER_FAR_CALL,   /* into the kernel, or from `address` to a system call that is not traced */
	ANALYSIS_TRANSFER_FAR_RETURN, /* out of the kernel, to `to` */
	ANALYSIS_TRANSFER_INTERRUPT,  /* `to` was executed instead of the instruction at `address` */
	ANALYSIS_TRANSFER_PAUSE,  /* code that is not traced follows; tracing would resume at `address` (0: unknown) */
	ANALYSIS_TRANSFER_RESUME, /* tracing resumes at `to` */
	ANALYSIS_TRANSFER_GAP,    /* flow is missing */
	ANALYSIS_TRANSFER_GO_ON,  /* the flow resumes at `to` from an unknown place */
	ANALYSIS_TRANSFER_LEAF,   /* a CALL of a plain function and its RETURN, without calls and time between */
};

#define ANALYSIS_TRANSFER_START 0x01u    /* a symbol begins at `to` */
#define ANALYSIS_TRANSFER_INDIRECT 0x02u /* JUMP: the code does not contain the target */
#define ANALYSIS_TRANSFER_OUTSIDE 0x04u  /* `to` is not traced (0: unknown) */
#define ANALYSIS_TRANSFER_KERNEL 0x08u   /* PAUSE: for a system call, interrupt or exception */
#define ANALYSIS_TRANSFER_FOREIGN 0x10u  /* JUMP: to another image */

struct analysis_transfer {
	uint64_t time; /* trace clock, of the code after the transfer; 0: unknown */
	uint64_t to;
	uint64_t address;
	uint32_t instructions; /* executed since the last transfer */
	/* function that covers `to`; always set for a CALL, else ANALYSIS_NO_FUNCTION without a symbol */
	uint32_t function;
	uint32_t image;  /* image of `to` */
	uint32_t inside; /* LEAF: instructions of the called function */
	uint8_t kind;
	uint8_t flags;
	uint16_t function_flags; /* ANALYSIS_FUNCTION_ flags of the place at `to` */
	uint32_t site;           /* CALL or LEAF of a run: number of the call site with this target; else 0 */
};

/* Transfers of one segment. Zero-initialised: empty. */
struct analysis_transfers {
	struct analysis_transfer *list; /* owned */
	size_t count, capacity;
};

static inline void analysis_transfers_free(struct analysis_transfers *transfers)
{
	free(transfers->list);
	*transfers = (struct analysis_transfers){0};
}

/* Places that a worker has looked up. Not thread-safe. analysis_place_cache_new returns NULL without memory. */
struct analysis_place_cache;
struct analysis_place_cache *analysis_place_cache_new(const struct flow_timeline *timeline,
						      struct analysis_function_table *table, uint64_t start_time);
void analysis_place_cache_free(struct analysis_place_cache *cache);

/* The last block, whose branch leads to the next block. */
struct analysis_leaving {
	uint64_t behind; /* address after the branch */
	uint8_t branch;  /* enum flow_branch */
	bool valid;      /* the block directly precedes the next block or event */
};

/* The first block or event of a segment that shows the place of the flow. Its meaning depends on the segment before. */
struct analysis_first {
	bool valid;
	bool is_event;
	uint32_t image; /* of a block */
	uint64_t ip;
	uint64_t time;
	struct flow_event event;
};

/* State of the flow between batches. Zero-initialise at the begin of a segment. */
struct analysis_tracker {
	struct analysis_code_place place; /* place of the last block */
	struct analysis_leaving leaving;
	bool placed;           /* `place` is set */
	uint32_t home_number;  /* not 0: replaces `place` by the number of a place in the worker's runs */
	uint64_t instructions; /* executed since the last transfer */
	uint64_t time;         /* of the last block or event */
	struct analysis_first first;
};

/*
 * Adds the transfers of a batch. The first block or event is stored in tracker->first instead. Returns 0 or
 * PTL_NO_MEMORY.
 */
int analysis_transfers_add(struct analysis_transfers *transfers, struct analysis_tracker *tracker,
			   struct analysis_place_cache *cache, const struct flow_segment *segment,
			   const struct flow_batch *batch);
/* Adds the transfers of a step. Returns 0 or PTL_NO_MEMORY. */
int analysis_transfers_step(struct analysis_transfers *transfers, struct analysis_tracker *tracker,
			    struct analysis_place_cache *cache, const struct flow_segment *segment,
			    const struct flow_step *step, uint32_t *home_number);
/*
 * Adds the transfers, if any, between the end of the last segment and the first block or event of this segment. Returns
 * 0 or PTL_NO_MEMORY.
 */
int analysis_transfers_join(struct analysis_transfers *transfers, const struct analysis_tracker *before,
			    const struct analysis_first *first, struct analysis_place_cache *cache,
			    const struct flow_segment *segment);

#endif
