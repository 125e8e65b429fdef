/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of a tally share: what a block counts, and known runs. */
#ifndef FLOW_DECODER_TALLY_INTERNAL_H
#define FLOW_DECODER_TALLY_INTERNAL_H

#include "common/hash.h"
#include "flow/decoder/tally.h"

/* Checks whether the block begins in a range that counts. */
static inline bool decoder_block_counts(const struct decoder_tally *tally, const struct flow_block *block)
{
	const struct decoder_tally_options *options = &tally->options;

	for (size_t i = 0; i < options->range_count; i++)
		if (block->ip >= options->ranges[i].first && block->ip <= options->ranges[i].last)
			return true;
	return !options->range_count;
}

/* Checks whether the block ends with a near call. */
static inline bool decoder_block_calls(const struct flow_block *block)
{
	return block->branch == FLOW_BRANCH_CALL || block->branch == FLOW_BRANCH_CALL_INDIRECT;
}

/* The two parts of ptl_decoder_bitmap_index. */
static inline uint32_t decoder_part_in(uint64_t to)
{
	return (uint32_t)(to * COMMON_HASH_FACTOR >> 32);
}

static inline uint32_t decoder_part_out(uint64_t from)
{
	return (uint32_t)(from * COMMON_HASH_FACTOR >> 33);
}

/* Adds a block to a hash; *factor: factor for what comes before the hash. */
static inline void decoder_add_hash(uint64_t *factor, uint64_t *hash, const struct flow_block *block)
{
	*factor *= DECODER_HASH_FACTOR;
	*hash = *hash * DECODER_HASH_FACTOR + block->ip + block->instructions * DECODER_HASH_LENGTH;
}

/* Adds to a count of the bitmap, up to 255. */
static inline void decoder_add_to_bitmap(const struct decoder_tally *tally, uint32_t index, uint64_t count)
{
	uint8_t *place = &tally->options.bitmap[index & (uint32_t)(tally->options.bitmap_size - 1)];
	const uint64_t sum = *place + count;

	*place = sum > UINT8_MAX ? UINT8_MAX : (uint8_t)sum;
}

/* Checks whether sums come from runs. Otherwise the sums of batches are right. */
static inline bool decoder_sums_runs(const struct decoder_tally *tally)
{
	return tally->options.range_count || tally->options.cr3 || tally->options.spaces;
}

/* ---- known runs ---------------------------------------------------------------------------------------- */

static inline size_t decoder_known_place(const struct decoder_tally *tally, const struct flow_block_run *run)
{
	return (size_t)((uintptr_t)run / 8 * COMMON_HASH_FACTOR >> 32) & (tally->known_capacity - 1);
}

/* Returns the place of the run, or a free place. */
static inline struct decoder_known_run *decoder_known_find(const struct decoder_tally *tally,
							   const struct flow_block_run *run, uint32_t split)
{
	size_t at = decoder_known_place(tally, run);

	while (tally->known[at].run && (tally->known[at].run != run || tally->known[at].split != split))
		at = (at + 1) & (tally->known_capacity - 1);
	return &tally->known[at];
}

/* Makes room for known runs. Returns false without memory. */
bool decoder_known_open(struct decoder_tally *tally);
/* Adds the run, which is not known. Returns NULL without memory. */
struct decoder_known_run *decoder_known_add(struct decoder_tally *tally, const struct flow_block_run *run,
					    uint32_t split);
/* Multiplies the counts of runs into the results. */
void decoder_known_spread(struct decoder_tally *tally);
/* Forgets all runs, whose counts are 0. */
void decoder_known_clear(struct decoder_tally *tally);
/* As decoder_known_clear, and frees the memory. */
void decoder_known_close(struct decoder_tally *tally);

#endif
