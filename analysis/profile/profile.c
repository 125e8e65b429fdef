/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts blocks: each worker has its own table. Branches between two segments are settled in order. */
#include "analysis/profile/profile.h"

#include <stdlib.h>

#include "analysis/profile/profile_merge.h"
#include "analysis/profile/profile_shard.h"
#include "analysis/profile/profile_state.h"
#include "analysis/profile/profile_table.h"
#include "common/error.h"
#include "common/thread_pool.h"
#include "common/vector.h"
#include "flow/view/shard.h"

/* Sink of a worker's counts. */
struct counter {
	struct profile_view *view;
	struct analysis_profile_table *table;
};

struct profile_view {
	bool edges;
	struct counter *counters;              /* by worker */
	struct analysis_profile_table *tables; /* by worker */
	struct analysis_profile_runs *runs;    /* by worker */
	struct common_byte_map by_ends;        /* by both ids: index in borders */
	struct analysis_border *borders;       /* results of branches between segments */
	size_t border_count;
	struct analysis_missing missing;
	unsigned threads;
	const struct flow_timeline *timeline;
	struct analysis_profile_source *sources; /* sources of loaded results */
	size_t source_count;
};

/* ---- on workers -------------------------------------------------------------------------- */

static int begin_on(void *context, unsigned worker, const struct flow_segment *segment, void **partial)
{
	struct profile_view *view = context;
	struct analysis_profile_partial *made = calloc(1, sizeof(*made));

	if (!made)
		return common_fail_memory("counts of blocks", sizeof(*made));
	made->missing.pt_bytes = segment->size - segment->skip;
	made->table = &view->tables[worker];
	made->runs = &view->runs[worker];
	*partial = made;
	return 0;
}

/* Counts the previous branch as taken or not taken, because flow continues at ip. */
static void settle_branch(struct analysis_profile_partial *partial, uint64_t ip)
{
	struct analysis_profile_entry *entry = &partial->table->entries[partial->last.entry];

	if (partial->last.branch == FLOW_BRANCH_CONDITIONAL) {
		entry->not_taken += ip == partial->last.next_ip;
		entry->taken += ip != partial->last.next_ip;
	}
}

static int profile_add_block(const struct profile_view *view, struct analysis_profile_partial *partial,
			     const struct flow_block *block)
{
	struct analysis_profile_table *table = partial->table;
	uint32_t index = 0;
	int status = analysis_profile_find(table, block, &index);

	if (status)
		return status;
	table->entries[index].count++;
	if (partial->last.valid) {
		settle_branch(partial, block->ip);
		if (view->edges && analysis_profile_is_edge(partial->last.branch))
			status = analysis_profile_edge(table, partial->last.entry, index, 1);
	}
	if (!partial->first.valid)
		partial->first = (struct analysis_profile_landing){true,      true,  true,
								   block->ip, index, table->entries[index].id};
	partial->last.valid = block->branch != FLOW_BRANCH_NONE;
	partial->last.branch = block->branch;
	partial->last.entry = index;
	partial->last.next_ip = block->ip + block->size;
	return status;
}

/* Handles FLOW_COUNTED: flow continues with a block that was counted, and whose branch was counted, too. */
static int add_counted(const struct profile_view *view, struct analysis_profile_partial *partial,
		       const struct flow_event *event)
{
	const struct flow_block *block = (const struct flow_block *)(uintptr_t)event->value;
	uint32_t index = 0;
	int status = analysis_profile_find(partial->table, block, &index);

	if (status)
		return status;
	if (partial->last.valid) {
		settle_branch(partial, block->ip);
		if (view->edges && analysis_profile_is_edge(partial->last.branch))
			status = analysis_profile_edge(partial->table, partial->last.entry, index, 1);
	}
	if (!partial->first.valid)
		partial->first = (struct analysis_profile_landing){true,      true,  true,
								   block->ip, index, partial->table->entries[index].id};
	partial->last.valid = false;
	return status;
}

static int add_event(const struct profile_view *view, struct analysis_profile_partial *partial,
		     const struct flow_segment *segment, const struct flow_event *event)
{
	struct analysis_profile_landing landing = {.valid = true};
	int status = 0;

	if (event->kind == FLOW_COUNTED)
		return add_counted(view, partial, event);
	if (event->kind == FLOW_GAP)
		status = analysis_missing_add_gap(&partial->missing, segment, event);
	if (!flow_event_splits(event->kind))
		return status;
	if (event->kind == FLOW_DISABLED) {
		landing.known = event->flags & FLOW_EVENT_HAS_TO;
		landing.ip = event->to;
	} else if (event->kind != FLOW_GAP && event->kind != FLOW_ENABLED) {
		landing.known = event->flags & FLOW_EVENT_HAS_FROM;
		landing.ip = event->from;
	}
	if (!partial->first.valid)
		partial->first = landing;
	if (partial->last.valid && landing.known)
		settle_branch(partial, landing.ip);
	partial->last.valid = false;
	return status;
}

/* ---- complete runs ------------------------------------------------------------------------ */

/* A walk over a batch. */
struct walk {
	const struct profile_view *view;
	struct analysis_profile_partial *partial;
	const struct flow_segment *segment;
	const struct flow_batch *batch;
	size_t event;                      /* index of the next event */
	size_t block;                      /* number of the next block */
	struct analysis_profile_run *last; /* previous run, whose branch is not settled yet; NULL: see partial->last */
};

/* Stores the previous run's branch in partial->last, because the run may be flushed, or an event comes. */
static void keep_pending(struct walk *walk)
{
	const struct analysis_profile_run *last = walk->last;

	if (!last)
		return;
	walk->partial->last.valid = last->branch != FLOW_BRANCH_NONE;
	walk->partial->last.branch = last->branch;
	walk->partial->last.entry = last->last;
	walk->partial->last.next_ip = last->next_ip;
	walk->last = NULL;
}

/* Adds the events before the block with this number. */
static int take_events(struct walk *walk, size_t block)
{
	const struct flow_batch *batch = walk->batch;
	int status = 0;

	while (!status && walk->event < batch->event_count && batch->events[walk->event].before <= block) {
		keep_pending(walk);
		status = add_event(walk->view, walk->partial, walk->segment, &batch->events[walk->event++]);
	}
	return status;
}

static int take_blocks(struct walk *walk, const struct flow_block_run *run)
{
	int status = 0;

	keep_pending(walk);
	for (uint32_t i = 0; !status && i < run->count; i++) {
		status = take_events(walk, walk->block++);
		if (!status)
			status = profile_add_block(walk->view, walk->partial, run->blocks[i]);
	}
	return status;
}

/* Settles the previous run's branch: flow continues in this run. */
static int settle_run(struct walk *walk, const struct analysis_profile_run *run)
{
	struct analysis_profile_run *last = walk->last;
	struct analysis_profile_partial *partial = walk->partial;
	const uint32_t first = partial->runs->list[run->first];
	uint32_t from;
	uint8_t branch;

	if (last) {
		const bool conditional = last->branch == FLOW_BRANCH_CONDITIONAL,
			   falls = run->first_ip == last->next_ip;

		last->not_taken += conditional && falls;
		last->taken += conditional && !falls;
		from = last->last;
		branch = last->branch;
	} else if (partial->last.valid) {
		settle_branch(partial, run->first_ip);
		from = partial->last.entry;
		branch = partial->last.branch;
	} else {
		return 0;
	}
	return walk->view->edges && analysis_profile_is_edge(branch)
		       ? analysis_profile_edge(partial->table, from, first, 1)
		       : 0;
}

static int take_run(struct walk *walk, const struct flow_block_run *run)
{
	struct analysis_profile_partial *partial = walk->partial;
	struct analysis_profile_run *place = analysis_profile_run_find(partial->runs, run);
	int status = 0;

	if (!place->run && analysis_profile_run_is_long(run))
		return take_blocks(walk, run);
	if (!place->run && analysis_profile_runs_full(partial->runs, run)) {
		keep_pending(walk);
		status = analysis_profile_runs_flush(partial->runs, partial->table, walk->view->edges);
		place = analysis_profile_run_find(partial->runs, run);
	}
	if (!status && !place->run)
		status = analysis_profile_runs_add(partial->runs, partial->table, run, place);
	if (status)
		return status;
	if (walk->event < walk->batch->event_count &&
	    walk->batch->events[walk->event].before < walk->block + place->blocks)
		return take_blocks(walk, run);
	status = settle_run(walk, place);
	if (!partial->first.valid)
		partial->first = (struct analysis_profile_landing){
			true,
			true,
			true,
			place->first_ip,
			partial->runs->list[place->first],
			partial->table->entries[partial->runs->list[place->first]].id};
	place->count++;
	walk->block += place->blocks;
	walk->last = place;
	return status;
}

#define AHEAD 8 /* number of runs whose places are prefetched */

static int take_runs(struct walk *walk)
{
	const struct flow_batch *batch = walk->batch;
	const struct analysis_profile_runs *runs = walk->partial->runs;
	int status = 0;

	for (size_t i = 0; !status && i < batch->run_count; i++) {
		if (i + AHEAD < batch->run_count)
			__builtin_prefetch(analysis_profile_run_first(runs, batch->runs[i + AHEAD]), 1);
		status = take_events(walk, walk->block);
		if (!status)
			status = take_run(walk, batch->runs[i]);
	}
	if (!status)
		status = take_events(walk, SIZE_MAX);
	keep_pending(walk);
	return status;
}

static int take_all_blocks(const struct profile_view *view, struct analysis_profile_partial *partial,
			   const struct flow_segment *segment, const struct flow_batch *batch)
{
	struct flow_batch_cursor cursor = flow_batch_walk(batch);
	int status = 0;

	while (!status && flow_batch_next(&cursor)) {
		if (cursor.block)
			status = profile_add_block(view, partial, cursor.block);
		else
			status = add_event(view, partial, segment, cursor.event);
	}
	return status;
}

static int profile_consume(void *context, void *partial_, const struct flow_segment *segment,
			   const struct flow_batch *batch)
{
	const struct profile_view *view = context;
	struct analysis_profile_partial *partial = partial_;
	struct walk walk = {.view = view, .partial = partial, .segment = segment, .batch = batch};
	int status = 0;

	if (batch->generation && batch->generation != partial->runs->generation) {
		status = analysis_profile_runs_flush(partial->runs, partial->table, view->edges);
		partial->runs->generation = batch->generation;
	}
	if (!status)
		status = batch->generation ? take_runs(&walk) : take_all_blocks(view, partial, segment, batch);
	/* Stores the id, because another worker's table may be used when segments are merged. */
	if (!status && partial->last.valid)
		partial->last.id = partial->table->entries[partial->last.entry].id;
	return status;
}

/* ---- counts from the engine --------------------------------------------------------------- */

static int take_count(void *context, const struct flow_block_run *run, uint64_t count, uint64_t taken)
{
	struct counter *counter = context;
	const struct flow_block *last = run->blocks[run->count - 1];
	uint32_t index = 0;
	int status = 0;

	for (uint32_t i = 0; !status && i < run->count; i++) {
		status = analysis_profile_find(counter->table, run->blocks[i], &index);
		if (!status)
			counter->table->entries[index].count += count;
	}
	if (status || last->branch != FLOW_BRANCH_CONDITIONAL)
		return status;
	/* A branch counts as taken by the place where flow continues; here both ways lead to one address. */
	if (last->target == last->ip + last->size)
		taken = 0;
	counter->table->entries[index].taken += taken;
	counter->table->entries[index].not_taken += count - taken;
	return 0;
}

static int take_edge(void *context, const struct flow_block *from, const struct flow_block *to, uint64_t count)
{
	struct counter *counter = context;
	uint32_t indexes[2] = {0};
	int status;

	if (!counter->view->edges || !analysis_profile_is_edge(from->branch))
		return 0;
	status = analysis_profile_find(counter->table, from, &indexes[0]);
	if (!status)
		status = analysis_profile_find(counter->table, to, &indexes[1]);
	return status ? status : analysis_profile_edge(counter->table, indexes[0], indexes[1], count);
}

/* ---- in order ---------------------------------------------------------------------------- */

static void profile_drop(void *context, void *partial_)
{
	struct analysis_profile_partial *partial = partial_;

	(void)context;
	analysis_missing_free(&partial->missing);
	free(partial);
}

/* Finds the border between two blocks, or adds a new border. Returns PTL_NO_MEMORY. */
static int find_border(struct profile_view *view, const struct analysis_border *like, struct analysis_border **border)
{
	const struct analysis_block_id ends[2] = {like->from, like->to};
	const uint64_t *known = common_byte_map_get(&view->by_ends, ends, sizeof(ends));

	if (known) {
		*border = &view->borders[*known];
		return 0;
	}
	if (!common_vector_room(&view->borders, view->border_count, sizeof(*like)))
		return common_fail_memory("counts of blocks", view->border_count * sizeof(*like));
	*border = &view->borders[view->border_count];
	**border = *like;
	return common_byte_map_put(&view->by_ends, ends, sizeof(ends), view->border_count++);
}

static int settle_border(struct profile_view *view, const struct analysis_profile_pending *last,
			 const struct analysis_profile_landing *first)
{
	const bool conditional = last->branch == FLOW_BRANCH_CONDITIONAL;
	const bool edge = view->edges && analysis_profile_is_edge(last->branch) && first->is_block;
	struct analysis_border like = {.from = last->id}, *border = NULL;
	int status;

	if (!last->valid || !first->valid || !first->known || (!conditional && !edge))
		return 0;
	if (edge)
		like.to = first->id;
	status = find_border(view, &like, &border);
	if (status)
		return status;
	border->count += edge;
	border->taken += conditional && first->ip != last->next_ip;
	border->not_taken += conditional && first->ip == last->next_ip;
	return 0;
}

static int profile_merge(void *context, void *left_, void *right_)
{
	struct analysis_profile_partial *left = left_, *right = right_;
	int status = 0;

	if (right->first.valid) {
		if (left->first.valid)
			status = settle_border(context, &left->last, &right->first);
		else
			left->first = right->first;
		left->last = right->last;
	}
	if (!status)
		status = analysis_missing_join(&left->missing, &right->missing);
	profile_drop(context, right);
	return status;
}

static int profile_finish(void *context, const struct flow_segment *last, void *result)
{
	struct profile_view *view = context;
	const struct analysis_profile_partial *partial = result;
	const int status = analysis_missing_join(&view->missing, &partial->missing);

	(void)last;
	profile_drop(context, result);
	return status;
}

/* Adds the workers' counts of runs to the counts of blocks. */
static int flush_workers(struct profile_view *view, unsigned threads)
{
	int status = 0;

	for (unsigned i = 0; !status && i < threads; i++)
		if (view->runs[i].used_count)
			status = analysis_profile_runs_flush(&view->runs[i], &view->tables[i], view->edges);
	return status;
}

/* ---- shards ------------------------------------------------------------------------------ */

static int profile_save(void *context, const struct flow_segment *segment, const void *partial,
			struct ptl_bytes *record)
{
	const struct profile_view *view = context;

	(void)segment;
	analysis_profile_partial_write(partial, view->tables, record);
	return 0;
}

static int profile_load(void *context, const struct flow_segment *segment, struct common_cursor *record, void **result)
{
	const struct profile_view *view = context;
	struct analysis_profile_partial *partial = calloc(1, sizeof(*partial));

	*result = partial;
	if (!partial)
		return common_fail_memory("counts of blocks", sizeof(*partial));
	return analysis_profile_partial_read(partial, &view->sources[segment->source], segment, record);
}

static int save_rest(void *context, struct ptl_bytes *record)
{
	struct profile_view *view = context;
	const int status = flush_workers(view, view->threads);

	if (!status)
		analysis_profile_tables_write(view->tables, view->threads, record);
	return status;
}

static int load_rest(void *context, size_t source, size_t sources, struct common_cursor *record)
{
	struct profile_view *view = context;

	if (!view->sources) {
		view->sources = calloc(sources, sizeof(*view->sources));
		if (!view->sources)
			return common_fail_memory("counts of blocks", sources * sizeof(*view->sources));
		view->source_count = sources;
	}
	return analysis_profile_tables_read(&view->tables[0], &view->sources[source], view->timeline, record);
}

static const struct flow_view_codec codec = {
	.name = "profile", .save = profile_save, .load = profile_load, .save_rest = save_rest, .load_rest = load_rest};

/* ---- the run ----------------------------------------------------------------------------- */

static void clean_up(struct profile_view *view, unsigned threads)
{
	for (unsigned i = 0; view->tables && view->runs && i < threads; i++) {
		analysis_profile_table_free(&view->tables[i]);
		analysis_profile_runs_free(&view->runs[i]);
	}
	free(view->tables);
	free(view->counters);
	free(view->runs);
	free(view->borders);
	for (size_t i = 0; i < view->source_count; i++)
		analysis_profile_source_free(&view->sources[i]);
	free(view->sources);
	common_byte_map_free(&view->by_ends);
}

int analysis_profile_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
			 const struct flow_view_options *options, bool edges, struct analysis_profile *profile)
{
	const unsigned threads = options->threads ? options->threads : common_cpu_count();
	struct profile_view context = {
		.edges = edges,
		.threads = threads,
		.timeline = timeline,
		.tables = calloc(threads, sizeof(*context.tables)),
		.counters = calloc(threads, sizeof(*context.counters)),
		.runs = calloc(threads, sizeof(*context.runs)),
	};
	struct flow_count_sink *sinks = calloc(threads, sizeof(*sinks));
	const struct flow_view view = {
		.context = &context,
		.counts_only = true,
		.counts = sinks,
		.begin_on = begin_on,
		.consume = profile_consume,
		.merge = profile_merge,
		.finish = profile_finish,
		.drop = profile_drop,
		.codec = &codec,
	};
	int status = 0;

	*profile = (struct analysis_profile){0};
	if (!context.tables || !context.runs || !context.counters || !sinks)
		status = common_fail_memory("counts of blocks", threads * sizeof(*context.tables));
	for (unsigned i = 0; !status && i < threads; i++) {
		context.counters[i] = (struct counter){&context, &context.tables[i]};
		sinks[i] = (struct flow_count_sink){take_count, take_edge, &context.counters[i]};
	}
	if (!status)
		status = flow_view_run(trace, timeline, options, &view);
	if (!status)
		status = flush_workers(&context, threads);
	profile->missing = context.missing;
	if (!status)
		status = analysis_profile_merge(timeline, context.tables, threads, context.borders,
						context.border_count, profile);
	clean_up(&context, threads);
	free(sinks);
	if (status < 0)
		analysis_profile_free(profile);
	return status;
}
