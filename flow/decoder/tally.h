/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts what batches of flow execute: edges, functions, sums and a hash. */
#ifndef FLOW_DECODER_TALLY_H
#define FLOW_DECODER_TALLY_H

#include <ptl/decoder.h>

#include "flow/code/range.h"
#include "flow/decoder/rows.h"
#include "flow/engine/flow.h"

#define DECODER_HASH_FACTOR 0x9e3779b97f4a7c15ull
#define DECODER_HASH_LENGTH 0xc2b2ae3d27d4eb4full /* factor of a block's instructions */

/* What a tally counts. */
struct decoder_tally_options {
	uint8_t *bitmap; /* NULL: no bitmap */
	size_t bitmap_size;
	const struct flow_code_span *ranges; /* blocks that begin in a range count; outlives the tally */
	size_t range_count;                  /* 0: all blocks */
	uint64_t cr3;                        /* 0: any */
	bool edges, functions, hash, spaces;
};

struct decoder_tally_sums {
	uint64_t instructions, blocks, branches, hash, gaps, gap_bytes, overflows;
};

/*
 * A run that was met before, with what its blocks count. A run is the same run as long as the generation of the batches
 * does not change.
 */
struct decoder_known_run {
	const struct flow_block_run *run; /* NULL: a free place */
	uint32_t number;                  /* index in `details` and `counts` */
	uint32_t blocks;
	uint32_t in, out; /* parts of ptl_decoder_bitmap_index for the first block as `to`, for the last as `from` */
	uint16_t split;   /* index of the block before which flow breaks; 0: no break */
	bool first_counts, last_counts;
};

struct decoder_run_details {
	uint64_t first_ip, last_ip;
	uint64_t factor, hash; /* hash after the run: h * factor + hash */
	uint64_t instructions; /* sums of the blocks that count */
	uint32_t blocks, branches;
	/* numbers in `lists`: indexes of the bitmap, then rows of edges, then rows of functions */
	size_t list;
	uint32_t index_count, edge_count, function_count;
	bool last_calls; /* the last block ends with a call */
};

struct decoder_tally {
	struct decoder_tally_options options;
	struct decoder_rows edges, functions;
	struct decoder_tally_sums sums;
	struct ptl_decoder_space *spaces; /* of the execution; the first has no CR3 */
	size_t space_count, space_capacity;
	size_t space;                         /* index of the current space */
	struct decoder_tally_sums space_sums; /* sums when the current space began */
	bool cr3_selected;                    /* flow counts: the CR3 is the selected one, or none is selected */
	bool no_memory;

	/* The last block, if the next block follows. */
	bool follows;
	bool last_counts, last_calls;
	uint32_t last_out;
	uint64_t last_ip;

	/* Known runs, in open addressing, of batches with this generation. */
	uint64_t generation;
	struct decoder_known_run *known;
	size_t known_count, known_capacity;
	struct decoder_run_details *details;
	size_t detail_capacity;
	uint32_t *counts; /* executions by number, in this execution */
	size_t count_capacity;
	uint32_t *counted; /* numbers with a count */
	size_t counted_count, counted_capacity;
	uint32_t *lists;
	size_t list_count, list_capacity;
};

void decoder_tally_open(struct decoder_tally *tally, const struct decoder_tally_options *options, size_t row_most);
void decoder_tally_close(struct decoder_tally *tally);
/* Counts a batch. Returns PTL_NO_MEMORY. */
int decoder_tally_take(struct decoder_tally *tally, const struct flow_batch *batch);
/* Flow of another address space follows. */
void decoder_tally_switch(struct decoder_tally *tally, uint64_t space);
/* Begins an execution. */
void decoder_tally_begin(struct decoder_tally *tally);
/* Ends the execution. Returns PTL_NO_MEMORY. */
int decoder_tally_end(struct decoder_tally *tally);
/* Drops the execution. */
void decoder_tally_drop(struct decoder_tally *tally);
/* Forgets all known runs, because their memory may be gone. Keeps the counts. */
void decoder_tally_forget(struct decoder_tally *tally);
/* As decoder_tally_forget, and frees the memory. */
void decoder_tally_release(struct decoder_tally *tally);
size_t decoder_tally_memory(const struct decoder_tally *tally);

#endif
