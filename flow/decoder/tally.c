/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts runs instead of blocks: the engine's caches give the same runs again and again, and the edges within a run are
 * listed once. An execution only counts its runs, and the edges between runs; the end of the execution multiplies.
 */
#include <stdlib.h>
#include <string.h>

#include "common/vector.h"
#include "flow/decoder/tally_internal.h"

#define CR3_IGNORED 0x1full /* flags, no address */
#define SPACES_MAX 1024u
#define AHEAD 8 /* runs between the prefetch of a known run and its use */

/* Counts the way from the last block to a block. */
static void count_way(struct decoder_tally *tally, uint64_t to, uint32_t in, bool counts)
{
	if (!tally->follows || !counts)
		return;
	if (tally->last_calls && tally->options.functions)
		decoder_rows_count(&tally->functions, decoder_rows_find(&tally->functions, to, 0), 1);
	if (!tally->last_counts)
		return;
	if (tally->options.bitmap)
		decoder_add_to_bitmap(tally, tally->last_out ^ in, 1);
	if (tally->options.edges)
		decoder_rows_count(&tally->edges, decoder_rows_find(&tally->edges, tally->last_ip, to), 1);
}

/* Counts a single block, for a run with several events. */
static void count_block(struct decoder_tally *tally, const struct flow_block *block)
{
	const bool counts = decoder_block_counts(tally, block);
	uint64_t factor = 1;

	if (!tally->cr3_selected)
		return;
	count_way(tally, block->ip, decoder_part_in(block->ip), counts);
	if (counts && tally->options.hash)
		decoder_add_hash(&factor, &tally->sums.hash, block);
	if (counts && decoder_sums_runs(tally)) {
		tally->sums.instructions += block->instructions;
		tally->sums.blocks++;
		tally->sums.branches += block->branch != FLOW_BRANCH_NONE;
	}
	tally->follows = true;
	tally->last_ip = block->ip;
	tally->last_out = decoder_part_out(block->ip);
	tally->last_counts = counts;
	tally->last_calls = decoder_block_calls(block);
}

void decoder_tally_forget(struct decoder_tally *tally)
{
	decoder_known_spread(tally);
	decoder_known_clear(tally);
}

void decoder_tally_release(struct decoder_tally *tally)
{
	decoder_known_spread(tally);
	decoder_known_close(tally);
}

/* ---- batches ------------------------------------------------------------------------------------------- */

/* Counts an execution of a known run, and the way to the run. */
static inline void count_run(struct decoder_tally *tally, const struct decoder_known_run *known, bool details_needed)
{
	uint32_t *count = &tally->counts[known->number];
	const struct decoder_run_details *details = details_needed ? &tally->details[known->number] : NULL;

	if (__builtin_expect(!*count, 0))
		tally->counted[tally->counted_count++] = known->number;
	/* A full count is spread at once. */
	if (__builtin_expect(++*count == UINT32_MAX, 0))
		decoder_known_spread(tally);
	if (details_needed) {
		count_way(tally, details->first_ip, known->in, known->first_counts);
		tally->sums.hash = tally->sums.hash * details->factor + details->hash;
		tally->last_ip = details->last_ip;
		tally->last_calls = details->last_calls;
	} else if (tally->follows & tally->last_counts & known->first_counts) {
		decoder_add_to_bitmap(tally, tally->last_out ^ known->in, 1);
	}
	tally->follows = true;
	tally->last_out = known->out;
	tally->last_counts = known->last_counts;
}

/* The place in a batch. */
struct place {
	size_t run, block; /* indexes of the next run, and of its first block */
};

/* Counts all runs that end at or before block `stop`. Returns false without memory. */
static inline __attribute__((always_inline)) bool count_runs(struct decoder_tally *tally,
							     const struct flow_batch *batch, struct place *at,
							     size_t stop, bool details_needed)
{
	struct place place = *at;
	bool more = true;

	for (; place.run < batch->run_count; place.run++) {
		const struct flow_block_run *run = batch->runs[place.run];
		const struct decoder_known_run *known = decoder_known_find(tally, run, 0);

		if (place.run + AHEAD < batch->run_count)
			__builtin_prefetch(&tally->known[decoder_known_place(tally, batch->runs[place.run + AHEAD])]);
		/* A known run is counted without a look at the run, whose memory is less likely in the CPU's caches. */
		if (__builtin_expect(!known->run, 0)) {
			if (place.block + run->count > stop)
				break;
			known = decoder_known_add(tally, run, 0);
			more = known != NULL;
			if (!more)
				break;
		} else if (place.block + known->blocks > stop) {
			break;
		}
		place.block += known->blocks;
		count_run(tally, known, details_needed);
	}
	*at = place;
	return more;
}

static bool take_runs(struct decoder_tally *tally, const struct flow_batch *batch, struct place *place, size_t stop)
{
	const struct decoder_tally_options *options = &tally->options;

	if (!tally->cr3_selected) {
		while (place->run < batch->run_count && place->block + batch->runs[place->run]->count <= stop)
			place->block += batch->runs[place->run++]->count;
		return true;
	}
	if (options->edges || options->functions || options->hash)
		return count_runs(tally, batch, place, stop, true);
	return count_runs(tally, batch, place, stop, false);
}

/* Checks whether flow does not continue over the event. */
static bool breaks(const struct flow_event *event)
{
	return event->kind == FLOW_GAP || (event->kind == FLOW_ENABLED && !(event->flags & FLOW_EVENT_RESUMED));
}

static bool matters(const struct decoder_tally *tally, const struct flow_event *event)
{
	return breaks(event) || (event->kind == FLOW_PAGING && (tally->options.cr3 || tally->options.spaces));
}

/* Adds the sums since the space began. */
static void leave_space(struct decoder_tally *tally)
{
	struct ptl_decoder_space *space = &tally->spaces[tally->space];

	decoder_known_spread(tally);
	space->instructions += tally->sums.instructions - tally->space_sums.instructions;
	space->blocks += tally->sums.blocks - tally->space_sums.blocks;
	space->branches += tally->sums.branches - tally->space_sums.branches;
	tally->space_sums = tally->sums;
}

/* Returns the index of the space; adds a new space. Above the limit, the first space; without memory, the current. */
static size_t find_space(struct decoder_tally *tally, uint64_t cr3)
{
	size_t i = 0;

	while (i < tally->space_count && tally->spaces[i].cr3 != cr3)
		i++;
	if (i < tally->space_count)
		return i;
	if (i == SPACES_MAX)
		return 0;
	if (!COMMON_VECTOR_GROW(tally->spaces, tally->space_capacity, tally->space_count + 1)) {
		tally->no_memory = true;
		return tally->space;
	}
	tally->spaces[tally->space_count] = (struct ptl_decoder_space){.cr3 = cr3};
	return tally->space_count++;
}

static void enter_space(struct decoder_tally *tally, uint64_t cr3)
{
	if (tally->spaces[tally->space].cr3 == cr3)
		return;
	leave_space(tally);
	tally->space = find_space(tally, cr3);
	tally->spaces[tally->space].switches++;
}

static void take_event(struct decoder_tally *tally, const struct flow_event *event)
{
	if (breaks(event))
		tally->follows = false;
	if (event->kind == FLOW_GAP) {
		tally->sums.gaps++;
		tally->sums.gap_bytes += event->size;
		tally->sums.overflows += event->cause == FLOW_GAP_OVERFLOW;
	}
	if (event->kind != FLOW_PAGING)
		return;
	if (tally->options.spaces)
		enter_space(tally, event->value & ~CR3_IGNORED);
	if (tally->options.cr3) {
		tally->cr3_selected = !((event->value ^ tally->options.cr3) & ~CR3_IGNORED);
		tally->follows &= tally->cr3_selected;
	}
}

/* Returns the index of the next event that matters, from `event` on. */
static size_t next_event(const struct decoder_tally *tally, const struct flow_batch *batch, size_t event)
{
	while (event < batch->event_count && !matters(tally, &batch->events[event]))
		event++;
	return event;
}

/* Counts the blocks of the current run one by one, with the events between the blocks. Returns the next event. */
static size_t take_blocks(struct decoder_tally *tally, const struct flow_batch *batch, struct place *place,
			  size_t event)
{
	const struct flow_block_run *run = batch->runs[place->run];

	for (uint32_t i = 0; i < run->count; i++) {
		while (event < batch->event_count && batch->events[event].before <= place->block + i) {
			take_event(tally, &batch->events[event]);
			event = next_event(tally, batch, event + 1);
		}
		count_block(tally, run->blocks[i]);
	}
	place->block += run->count;
	place->run++;
	return event;
}

/*
 * Counts the run in which the event lies, and returns the next event. Runs of packet words have the same events each
 * time, usually a single break: such a run is known by the place of the break, too.
 */
static size_t take_split(struct decoder_tally *tally, const struct flow_batch *batch, struct place *place, size_t event)
{
	const struct flow_block_run *run = batch->runs[place->run];
	const size_t next = next_event(tally, batch, event + 1);
	const uint32_t split = (uint32_t)(batch->events[event].before - place->block);
	const struct decoder_known_run *known;

	if ((next < batch->event_count && batch->events[next].before < place->block + run->count) ||
	    !breaks(&batch->events[event]) || !tally->cr3_selected || split > UINT16_MAX)
		return take_blocks(tally, batch, place, event);
	known = decoder_known_find(tally, run, split);
	if (!known->run)
		known = decoder_known_add(tally, run, split);
	if (!known) {
		tally->no_memory = true;
		return batch->event_count;
	}
	/* Details serve any outputs. */
	count_run(tally, known, true);
	if (batch->events[event].kind == FLOW_GAP)
		take_event(tally, &batch->events[event]);
	tally->follows = true;
	place->block += run->count;
	place->run++;
	return next;
}

static bool needs_runs(const struct decoder_tally *tally)
{
	const struct decoder_tally_options *options = &tally->options;

	return options->bitmap || options->edges || options->functions || options->hash || decoder_sums_runs(tally);
}

static bool take_all(struct decoder_tally *tally, const struct flow_batch *batch)
{
	struct place place = {0};
	size_t event = next_event(tally, batch, 0);

	while (event < batch->event_count && !tally->no_memory) {
		const size_t before = batch->events[event].before;

		if (!take_runs(tally, batch, &place, before))
			return false;
		if (before > place.block) {
			event = take_split(tally, batch, &place, event);
		} else {
			take_event(tally, &batch->events[event]);
			event = next_event(tally, batch, event + 1);
		}
	}
	return !tally->no_memory && take_runs(tally, batch, &place, batch->block_count);
}

static bool begin_spaces(struct decoder_tally *tally)
{
	find_space(tally, PTL_DECODER_NO_CR3);
	tally->space_sums = (struct decoder_tally_sums){0};
	return tally->space_count != 0;
}

void decoder_tally_switch(struct decoder_tally *tally, uint64_t space)
{
	if (tally->options.spaces && (tally->space_count || begin_spaces(tally)))
		enter_space(tally, space);
}

int decoder_tally_take(struct decoder_tally *tally, const struct flow_batch *batch)
{
	bool taken = true;

	/* Batches without blocks may have no generation. */
	if (batch->run_count && batch->generation != tally->generation) {
		decoder_tally_forget(tally);
		tally->generation = batch->generation;
	}
	if (!decoder_known_open(tally) || (tally->options.spaces && !tally->space_count && !begin_spaces(tally)))
		return common_fail_memory("known flow", sizeof(*tally->known));
	if (!decoder_sums_runs(tally)) {
		tally->sums.instructions += batch->instructions;
		tally->sums.blocks += batch->block_count;
		tally->sums.branches += batch->branches;
	}
	if (needs_runs(tally))
		taken = take_all(tally, batch);
	else
		for (size_t i = 0; i < batch->event_count; i++)
			take_event(tally, &batch->events[i]);
	if (taken && !tally->edges.no_memory && !tally->functions.no_memory)
		return 0;
	return common_fail_memory("known flow", tally->known_capacity * sizeof(*tally->known));
}

/* ---- executions ---------------------------------------------------------------------------------------- */

void decoder_tally_open(struct decoder_tally *tally, const struct decoder_tally_options *options, size_t row_most)
{
	*tally = (struct decoder_tally){.options = *options};
	tally->edges.most = tally->functions.most = row_most < COMMON_NO_ROW ? row_most : COMMON_NO_ROW - 1;
	decoder_tally_begin(tally);
}

void decoder_tally_close(struct decoder_tally *tally)
{
	decoder_rows_close(&tally->edges);
	decoder_rows_close(&tally->functions);
	decoder_known_close(tally);
	free(tally->spaces);
	*tally = (struct decoder_tally){0};
}

static void start_execution(struct decoder_tally *tally)
{
	tally->sums = (struct decoder_tally_sums){0};
	tally->follows = tally->no_memory = false;
	tally->cr3_selected = !tally->options.cr3;
	tally->space_count = tally->space = 0;
}

void decoder_tally_begin(struct decoder_tally *tally)
{
	start_execution(tally);
	decoder_rows_begin(&tally->edges);
	decoder_rows_begin(&tally->functions);
}

int decoder_tally_end(struct decoder_tally *tally)
{
	decoder_known_spread(tally);
	if (tally->space_count)
		leave_space(tally);
	decoder_rows_end(&tally->edges);
	decoder_rows_end(&tally->functions);
	if (tally->edges.no_memory || tally->functions.no_memory)
		return common_fail_memory("edges", decoder_rows_memory(&tally->edges));
	return 0;
}

void decoder_tally_drop(struct decoder_tally *tally)
{
	bool dropped;

	for (size_t i = 0; i < tally->counted_count; i++)
		tally->counts[tally->counted[i]] = 0;
	tally->counted_count = 0;
	start_execution(tally);
	dropped = decoder_rows_drop(&tally->edges);
	dropped |= decoder_rows_drop(&tally->functions);
	/* Lists of known runs have the numbers of rows. */
	if (dropped)
		decoder_known_clear(tally);
}

size_t decoder_tally_memory(const struct decoder_tally *tally)
{
	return decoder_rows_memory(&tally->edges) + decoder_rows_memory(&tally->functions) +
	       tally->known_capacity * sizeof(*tally->known) + tally->detail_capacity * sizeof(*tally->details) +
	       tally->space_capacity * sizeof(*tally->spaces) +
	       (tally->count_capacity + tally->counted_capacity + tally->list_capacity) * sizeof(uint32_t);
}
