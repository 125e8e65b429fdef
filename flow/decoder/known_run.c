/* SPDX-License-Identifier: BSD-2-Clause */
/* Known runs of a tally: what their blocks count is listed once. */
#include <stdlib.h>
#include <string.h>

#include "common/vector.h"
#include "flow/decoder/tally_internal.h"

#define FIRST_KNOWN ((size_t)1 << 12) /* places; a power of two */

/* The lists of a run being made. */
enum list { LIST_INDEXES, LIST_EDGES, LIST_FUNCTIONS };

/* Returns whether the way between two blocks belongs into the list, with its number. */
static bool list_number(struct decoder_tally *tally, enum list list, const struct flow_block *from,
			const struct flow_block *to, uint32_t *number)
{
	if (!decoder_block_counts(tally, to))
		return false;
	if (list == LIST_FUNCTIONS) {
		if (!decoder_block_calls(from))
			return false;
		*number = decoder_rows_find(&tally->functions, to->ip, 0);
		return true;
	}
	if (!decoder_block_counts(tally, from))
		return false;
	*number = list == LIST_EDGES ? decoder_rows_find(&tally->edges, from->ip, to->ip)
				     : decoder_part_out(from->ip) ^ decoder_part_in(to->ip);
	return true;
}

/* Adds the run's ways to the end of `lists`. Returns the number of ways. */
static uint32_t add_list(struct decoder_tally *tally, enum list list, const struct flow_block_run *run, uint32_t split)
{
	const size_t before = tally->list_count;

	for (uint32_t i = 1; i < run->count; i++) {
		uint32_t number;

		if (i == split || !list_number(tally, list, run->blocks[i - 1], run->blocks[i], &number))
			continue;
		if (!COMMON_VECTOR_GROW(tally->lists, tally->list_capacity, tally->list_count + 1)) {
			tally->no_memory = true;
			return 0;
		}
		tally->lists[tally->list_count++] = number;
	}
	return (uint32_t)(tally->list_count - before);
}

static void describe_run(struct decoder_tally *tally, const struct flow_block_run *run, uint32_t split,
			 struct decoder_run_details *details)
{
	const struct decoder_tally_options *options = &tally->options;

	*details = (struct decoder_run_details){
		.first_ip = run->blocks[0]->ip,
		.last_ip = run->blocks[run->count - 1]->ip,
		.factor = 1,
		.list = tally->list_count,
		.last_calls = decoder_block_calls(run->blocks[run->count - 1]),
	};
	for (uint32_t i = 0; i < run->count; i++) {
		if (!decoder_block_counts(tally, run->blocks[i]))
			continue;
		decoder_add_hash(&details->factor, &details->hash, run->blocks[i]);
		details->instructions += run->blocks[i]->instructions;
		details->blocks++;
		details->branches += run->blocks[i]->branch != FLOW_BRANCH_NONE;
	}
	details->index_count = options->bitmap ? add_list(tally, LIST_INDEXES, run, split) : 0;
	details->edge_count = options->edges ? add_list(tally, LIST_EDGES, run, split) : 0;
	details->function_count = options->functions ? add_list(tally, LIST_FUNCTIONS, run, split) : 0;
}

static bool grow_known(struct decoder_tally *tally)
{
	struct decoder_known_run *old = tally->known;
	const size_t count = tally->known_capacity, room = count ? 2 * count : FIRST_KNOWN;
	struct decoder_known_run *known = calloc(room, sizeof(*known));

	if (!known)
		return false;
	tally->known = known;
	tally->known_capacity = room;
	for (size_t i = 0; i < count; i++)
		if (old[i].run)
			*decoder_known_find(tally, old[i].run, old[i].split) = old[i];
	free(old);
	return true;
}

struct decoder_known_run *decoder_known_add(struct decoder_tally *tally, const struct flow_block_run *run,
					    uint32_t split)
{
	const uint32_t number = (uint32_t)tally->known_count;
	struct decoder_known_run *known;

	if (2 * (tally->known_count + 1) > tally->known_capacity && !grow_known(tally))
		return NULL;
	if (!COMMON_VECTOR_GROW(tally->details, tally->detail_capacity, tally->known_count + 1) ||
	    !COMMON_VECTOR_GROW(tally->counts, tally->count_capacity, tally->known_count + 1) ||
	    !COMMON_VECTOR_GROW(tally->counted, tally->counted_capacity, tally->known_count + 1))
		return NULL;
	describe_run(tally, run, split, &tally->details[number]);
	if (tally->no_memory)
		return NULL;
	known = decoder_known_find(tally, run, split);
	*known = (struct decoder_known_run){
		.run = run,
		.number = number,
		.blocks = run->count,
		.in = decoder_part_in(run->blocks[0]->ip),
		.out = decoder_part_out(run->blocks[run->count - 1]->ip),
		.split = (uint16_t)split,
		.first_counts = decoder_block_counts(tally, run->blocks[0]),
		.last_counts = decoder_block_counts(tally, run->blocks[run->count - 1]),
	};
	tally->counts[number] = 0;
	tally->known_count++;
	return known;
}

void decoder_known_spread(struct decoder_tally *tally)
{
	for (size_t i = 0; i < tally->counted_count; i++) {
		const struct decoder_run_details *details = &tally->details[tally->counted[i]];
		const uint64_t count = tally->counts[tally->counted[i]];
		const uint32_t *list = tally->lists + details->list;

		for (uint32_t k = 0; k < details->index_count; k++)
			decoder_add_to_bitmap(tally, *list++, count);
		for (uint32_t k = 0; k < details->edge_count; k++)
			decoder_rows_count(&tally->edges, *list++, count);
		for (uint32_t k = 0; k < details->function_count; k++)
			decoder_rows_count(&tally->functions, *list++, count);
		if (decoder_sums_runs(tally)) {
			tally->sums.instructions += count * details->instructions;
			tally->sums.blocks += count * details->blocks;
			tally->sums.branches += count * details->branches;
		}
		tally->counts[tally->counted[i]] = 0;
	}
	tally->counted_count = 0;
}

void decoder_known_clear(struct decoder_tally *tally)
{
	if (tally->known_count)
		memset(tally->known, 0, tally->known_capacity * sizeof(*tally->known));
	tally->known_count = tally->list_count = 0;
}

bool decoder_known_open(struct decoder_tally *tally)
{
	return tally->known_capacity || grow_known(tally);
}

void decoder_known_close(struct decoder_tally *tally)
{
	free(tally->known);
	free(tally->details);
	free(tally->counts);
	free(tally->counted);
	free(tally->lists);
	tally->known = NULL;
	tally->details = NULL;
	tally->counts = tally->counted = tally->lists = NULL;
	tally->known_count = tally->known_capacity = tally->detail_capacity = tally->count_capacity = 0;
	tally->counted_count = tally->counted_capacity = tally->list_count = tally->list_capacity = 0;
}
