/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notes the last execution of each run of blocks in each segment, and joins the segments in order. A run of blocks is
 * looked up once for each execution, and its blocks once for each segment.
 */
#include "analysis/difference/diff_last.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "flow/view/shard.h"

/* Identity of code: addresses in the file's own address space. */
struct key {
	uint64_t place; /* of the last instruction of a block, or of a function's beginning */
	uint64_t to;    /* of an edge */
	uint32_t image; /* key of the image */
	uint32_t kind;  /* enum analysis_diff_kind; of an edge with the way in the upper bytes */
};

#define EDGE(way) (ANALYSIS_DIFF_EDGE | (uint32_t)(way) << 8)

/* An execution within a segment, or within a thread. */
struct moment {
	uint64_t time;
	uint64_t executed; /* instructions before */
};

struct known_run {
	const struct flow_block_run *run;
	struct moment last;
	uint32_t next, pair; /* the run that followed last, and the pair of both, plus one; 0: none */
};

/* One run of blocks followed another. */
struct known_pair {
	uint32_t from, to;
	struct moment last;
};

struct noted {
	struct key key;
	struct moment last;
};

/* The result of a segment. */
struct part {
	uint64_t generation;
	struct common_hash_map by_run, by_pair;
	struct known_run *runs;
	struct known_pair *pairs;
	size_t run_count, run_capacity, pair_count, pair_capacity;
	uint32_t before; /* the last run, plus one; 0: none */
	uint64_t executed;
	uint64_t time;
	const struct analysis_diff_run *of;
	struct common_byte_map by_key;
	struct noted *list;
	size_t count, capacity;
};

/* The last execution in the thread that ran the code last so far. */
struct found {
	struct moment last;
	size_t thread; /* number of the thread */
};

struct lasts_view {
	const struct analysis_diff_run *run;
	struct analysis_diff_lasts *lasts;
	struct found *found; /* by index in lasts->list */
	size_t capacity, found_capacity;
	uint64_t *totals; /* instructions by thread; owned */
	size_t thread_count, thread_capacity;
	struct flow_segment last; /* segment before */
	bool has_last;
};

/* ---- on workers ---------------------------------------------------------------------------------- */

static int note(struct part *part, const struct key *key, const struct moment *last)
{
	const uint64_t *known = common_byte_map_get(&part->by_key, key, sizeof(*key));

	if (known) {
		if (part->list[*known].last.executed <= last->executed)
			part->list[*known].last = *last;
		return 0;
	}
	if (COMMON_VECTOR_RESERVE(part->list, part->capacity, part->count + 1, "places"))
		return PTL_NO_MEMORY;
	part->list[part->count] = (struct noted){*key, *last};
	return common_byte_map_put(&part->by_key, key, sizeof(*key), part->count++);
}

/* Sets image and place of a key. Returns false if the comparison leaves the image out. */
static bool set_place(const struct analysis_diff_run *run, uint32_t image, uint64_t address, struct key *key)
{
	key->image = image == FLOW_NONE ? ANALYSIS_DIFF_NO_IMAGE : run->images[image].key;
	key->place = image == FLOW_NONE ? address
					: flow_image_address(flow_timeline_image(run->timeline, image), address);
	return key->image != 0;
}

static void set_target(const struct analysis_diff_run *run, uint32_t image, uint64_t address, struct key *key)
{
	key->to = image == FLOW_NONE ? address : flow_image_address(flow_timeline_image(run->timeline, image), address);
}

static int note_edge(struct part *part, const struct flow_block *from, const struct flow_block *to,
		     const struct moment *last)
{
	struct key key = {0};

	if (!set_place(part->of, from->image, from->last_ip, &key))
		return 0;
	if (from->branch == FLOW_BRANCH_CONDITIONAL) {
		key.kind = EDGE(to->ip == from->ip + from->size ? ANALYSIS_DIFF_NOT_TAKEN : ANALYSIS_DIFF_TAKEN);
	} else if (from->branch == FLOW_BRANCH_JUMP_INDIRECT || from->branch == FLOW_BRANCH_CALL_INDIRECT) {
		key.kind = EDGE(ANALYSIS_DIFF_TO);
		set_target(part->of, to->image, to->ip, &key);
	} else {
		return 0;
	}
	return note(part, &key, last);
}

/* Notes the block, and the beginning of its function. */
static int note_block(struct part *part, const struct flow_block *block, const struct moment *last)
{
	struct key key = {.kind = ANALYSIS_DIFF_BLOCK};
	struct flow_symbol symbol;
	int status;

	if (!set_place(part->of, block->image, block->last_ip, &key))
		return 0;
	status = note(part, &key, last);
	if (status < 0 || !flow_symbols_find(part->of->symbols, block->image, block->ip, &symbol))
		return status;
	set_place(part->of, block->image, block->ip - symbol.offset, &key);
	key.kind = ANALYSIS_DIFF_FUNCTION;
	return note(part, &key, last);
}

/* Notes the blocks of a run, and the edges between them. */
static int note_run(struct part *part, const struct known_run *known)
{
	struct moment moment = known->last;
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < known->run->count; i++) {
		const struct flow_block *block = known->run->blocks[i];

		status = note_block(part, block, &moment);
		if (status == 0 && i)
			status = note_edge(part, known->run->blocks[i - 1], block, &moment);
		moment.executed += block->instructions;
	}
	return status;
}

/* Notes all runs so far: their memory may be gone soon. */
static int flush_runs(struct part *part)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < part->run_count; i++)
		status = note_run(part, &part->runs[i]);
	for (size_t i = 0; status == 0 && i < part->pair_count; i++) {
		const struct flow_block_run *from = part->runs[part->pairs[i].from].run;
		const struct flow_block_run *to = part->runs[part->pairs[i].to].run;

		status = note_edge(part, from->blocks[from->count - 1], to->blocks[0], &part->pairs[i].last);
	}
	common_hash_map_free(&part->by_run);
	common_hash_map_free(&part->by_pair);
	part->run_count = part->pair_count = 0;
	part->before = 0;
	return status;
}

static int find_run(struct part *part, const struct flow_block_run *run, uint32_t *number)
{
	const uint64_t *known = common_hash_map_get(&part->by_run, (uintptr_t)run);

	*number = known ? (uint32_t)*known : (uint32_t)part->run_count;
	if (known)
		return 0;
	if (COMMON_VECTOR_RESERVE(part->runs, part->run_capacity, part->run_count + 1, "runs of blocks"))
		return PTL_NO_MEMORY;
	part->runs[part->run_count++] = (struct known_run){.run = run};
	return common_hash_map_put(&part->by_run, (uintptr_t)run, *number);
}

static int note_pair(struct part *part, uint32_t from, uint32_t to, const struct moment *last)
{
	const uint64_t key = (uint64_t)from << 32 | to;
	const uint64_t *known = common_hash_map_get(&part->by_pair, key);

	part->runs[from].next = to + 1;
	part->runs[from].pair = (uint32_t)(known ? *known : part->pair_count) + 1;
	if (known) {
		part->pairs[*known].last = *last;
		return 0;
	}
	if (COMMON_VECTOR_RESERVE(part->pairs, part->pair_capacity, part->pair_count + 1, "runs of blocks"))
		return PTL_NO_MEMORY;
	part->pairs[part->pair_count] = (struct known_pair){from, to, *last};
	return common_hash_map_put(&part->by_pair, key, part->pair_count++);
}

/* Notes a run, and that it followed the run before. */
static int note_step(struct part *part, const struct flow_block_run *run, const struct moment *last)
{
	const uint32_t before = part->before;
	const struct known_run *from = before ? &part->runs[before - 1] : NULL;
	uint32_t number;
	int status;

	/* Mostly, the same run follows again. */
	if (from && from->next && part->runs[from->next - 1].run == run) {
		part->pairs[from->pair - 1].last = *last;
		part->before = from->next;
		part->runs[part->before - 1].last = *last;
		return 0;
	}
	status = find_run(part, run, &number);
	if (status < 0)
		return status;
	part->runs[number].last = *last;
	part->before = number + 1;
	return before ? note_pair(part, before - 1, number, last) : 0;
}

static int lasts_consume(void *context, void *partial, const struct flow_segment *segment,
			 const struct flow_batch *batch)
{
	struct part *part = partial;
	size_t mark = 0, block = 0;
	int status = 0;

	(void)context;
	(void)segment;
	if (!batch->generation || batch->generation != part->generation)
		status = flush_runs(part);
	part->generation = batch->generation;
	for (size_t i = 0; status == 0 && i < batch->run_count; i++) {
		const struct flow_block_run *run = batch->runs[i];
		struct moment last = {.executed = part->executed};

		for (; mark < batch->mark_count && batch->marks[mark].block <= block; mark++)
			part->time = batch->marks[mark].time ? batch->marks[mark].time : part->time;
		last.time = part->time;
		status = note_step(part, run, &last);
		part->executed += run->instructions;
		block += run->count;
	}
	/* Without a generation, runs live as long as their batch. */
	return status == 0 && !batch->generation ? flush_runs(part) : status;
}

static int lasts_begin(void *context, const struct flow_segment *segment, void **partial)
{
	const struct lasts_view *view = context;
	struct part *part = calloc(1, sizeof(*part));

	(void)segment;
	*partial = part;
	if (!part)
		return common_fail_memory("places", sizeof(*part));
	part->of = view->run;
	return 0;
}

static int lasts_complete(void *context, void *partial)
{
	(void)context;
	return flush_runs(partial);
}

static void lasts_drop(void *context, void *partial)
{
	struct part *part = partial;

	(void)context;
	common_hash_map_free(&part->by_run);
	common_hash_map_free(&part->by_pair);
	common_byte_map_free(&part->by_key);
	free(part->runs);
	free(part->pairs);
	free(part->list);
	free(part);
}

/* ---- in order ------------------------------------------------------------------------------------ */

/* The earlier execution of another thread, with the instructions that this thread executed after it. */
static void settle(const struct lasts_view *view, size_t index)
{
	const struct found *found = &view->found[index];
	struct analysis_diff_last *last = &view->lasts->list[index];
	const uint64_t after = view->totals[found->thread] - found->last.executed;

	if (found->last.time > last->time || (found->last.time == last->time && after < last->instructions))
		*last = (struct analysis_diff_last){found->last.time, after};
}

static int join(struct lasts_view *view, const struct noted *noted)
{
	struct analysis_diff_lasts *lasts = view->lasts;
	const size_t thread = view->thread_count - 1;
	struct found found = {noted->last, thread};
	const uint64_t *known = common_byte_map_get(&lasts->by_key, &noted->key, sizeof(noted->key));

	found.last.executed += view->totals[thread];
	if (known) {
		if (view->found[*known].thread != thread)
			settle(view, *known);
		view->found[*known] = found;
		return 0;
	}
	if (COMMON_VECTOR_RESERVE(lasts->list, view->capacity, lasts->count + 1, "places") ||
	    COMMON_VECTOR_RESERVE(view->found, view->found_capacity, lasts->count + 1, "places"))
		return PTL_NO_MEMORY;
	lasts->list[lasts->count] = (struct analysis_diff_last){.instructions = UINT64_MAX};
	view->found[lasts->count] = found;
	return common_byte_map_put(&lasts->by_key, &noted->key, sizeof(noted->key), lasts->count++);
}

static bool is_same_thread(const struct lasts_view *view, const struct flow_segment *segment)
{
	const struct flow_segment *last = &view->last;

	return view->has_last &&
	       (last->group == segment->group ||
		(segment->thread != FLOW_NONE && segment->thread == last->thread && segment->process == last->process));
}

static int lasts_emit(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon)
{
	struct lasts_view *view = context;
	struct part *part = partial;
	int status = 0;

	(void)horizon;
	if (!is_same_thread(view, segment)) {
		status = COMMON_VECTOR_RESERVE(view->totals, view->thread_capacity, view->thread_count + 1, "threads");
		if (status == 0)
			view->totals[view->thread_count++] = 0;
	}
	for (size_t i = 0; status == 0 && i < part->count; i++)
		status = join(view, &part->list[i]);
	if (status == 0)
		view->totals[view->thread_count - 1] += part->executed;
	view->lasts->end = part->time > view->lasts->end ? part->time : view->lasts->end;
	view->last = *segment;
	view->has_last = true;
	lasts_drop(context, part);
	return status;
}

/* ---- shards -------------------------------------------------------------------------------------- */

static int lasts_save(void *context, const struct flow_segment *segment, const void *partial, struct ptl_bytes *record)
{
	const struct part *part = partial;

	(void)context;
	(void)segment;
	common_write_varint(record, part->executed);
	common_write_varint(record, part->time);
	common_write_varint(record, part->count);
	for (size_t i = 0; i < part->count; i++) {
		const struct noted *noted = &part->list[i];

		common_write_varint(record, noted->key.place);
		common_write_varint(record, noted->key.to);
		common_write_varint(record, noted->key.image);
		common_write_varint(record, noted->key.kind);
		common_write_varint(record, noted->last.time);
		common_write_varint(record, noted->last.executed);
	}
	return 0;
}

static int lasts_load(void *context, const struct flow_segment *segment, struct common_cursor *record, void **result)
{
	struct part *part;
	uint64_t count;
	int status = lasts_begin(context, segment, result);

	if (status < 0)
		return status;
	part = *result;
	part->executed = common_read_varint(record);
	part->time = common_read_varint(record);
	count = common_read_varint(record);
	for (uint64_t i = 0; status == 0 && i < count && !record->failed; i++) {
		struct noted noted = {.key.place = common_read_varint(record)};

		noted.key.to = common_read_varint(record);
		noted.key.image = (uint32_t)common_read_varint(record);
		noted.key.kind = (uint32_t)common_read_varint(record);
		noted.last.time = common_read_varint(record);
		noted.last.executed = flow_shard_read_below(record, part->executed + 1);
		if (!record->failed)
			status = note(part, &noted.key, &noted.last);
	}
	return status == 0 ? flow_shard_check_end(record, "last executions") : status;
}

static const struct flow_view_codec codec = {.name = "lasts", .save = lasts_save, .load = lasts_load};

int analysis_diff_lasts_run(const struct analysis_diff_run *run, const struct flow_view_options *options,
			    struct analysis_diff_lasts *lasts)
{
	struct lasts_view context = {.run = run, .lasts = lasts};
	const struct flow_view view = {
		.context = &context,
		.begin = lasts_begin,
		.consume = lasts_consume,
		.complete = lasts_complete,
		.emit = lasts_emit,
		.drop = lasts_drop,
		.codec = &codec,
	};
	int status = flow_view_run(run->input.trace, run->timeline, options, &view);

	for (size_t i = 0; status == 0 && i < lasts->count; i++)
		settle(&context, i);
	free(context.found);
	free(context.totals);
	return status ? common_fail_in(status, "%s", run->input.path) : 0;
}

const struct analysis_diff_last *analysis_diff_lasts_find(const struct analysis_diff_lasts *lasts,
							  const struct analysis_diff_run *run,
							  const struct analysis_diff_item *item)
{
	struct key key = {.kind = item->kind};
	const uint64_t *known;

	if (!set_place(run, item->image, item->place, &key))
		return NULL;
	if (item->kind == ANALYSIS_DIFF_EDGE) {
		key.kind = EDGE(item->way);
		if (item->way == ANALYSIS_DIFF_TO)
			set_target(run, item->to_image, item->to, &key);
	}
	known = common_byte_map_get(&lasts->by_key, &key, sizeof(key));
	return known ? &lasts->list[*known] : NULL;
}

void analysis_diff_lasts_free(struct analysis_diff_lasts *lasts)
{
	common_byte_map_free(&lasts->by_key);
	free(lasts->list);
	*lasts = (struct analysis_diff_lasts){0};
}
