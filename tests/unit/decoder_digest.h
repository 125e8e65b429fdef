/* SPDX-License-Identifier: BSD-2-Clause */
/* What a flow of the public interfaces has, as one number, and as the results that ptl_decoder_end has to give. */
#ifndef TESTS_UNIT_DECODER_DIGEST_H
#define TESTS_UNIT_DECODER_DIGEST_H

#include <ptl/decoder.h>

#define DIGEST_BITMAP 4096u
#define DIGEST_EDGES_MAX (1u << 14)

struct digest {
	uint64_t items; /* hash of all blocks and events with all members */
	uint64_t instructions, blocks, branches, hash, gaps, gap_bytes, overflows;
	uint64_t calls;
	uint32_t counts[DIGEST_BITMAP]; /* edges by ptl_decoder_bitmap_index */
	/* blocks that count: struct ptl_decoder_options; 0 and 0: all */
	uint64_t first, last;
	uint64_t cr3;
	uint64_t current_cr3;
	bool follows, last_counts, last_calls;
	uint64_t last_ip;
};

void digest_item(struct digest *digest, const struct ptl_flow_item *item);
/* A batch function of struct ptl_decoder_options; context: struct digest. */
int digest_batch(void *context, struct ptl_flow_batch *batch);
/* Adds the flow of ptl_flow_open_raw. */
void digest_flow(struct digest *digest, const struct ptl_flow_raw *raw);
/* Checks that sums, bitmap, edges and functions are equal to the digest's. `edges`: those of one execution. */
void digest_check(const struct digest *digest, const struct ptl_decoder *decoder, const struct ptl_decoder_sums *sums,
		  const uint8_t *bitmap);

#endif
