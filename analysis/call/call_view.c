/* SPDX-License-Identifier: BSD-2-Clause */
/* The flow view of all commands that count calls. */
#include "analysis/call/call_view.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call/call_clock.h"
#include "analysis/call/call_shard.h"
#include "analysis/call/place_cache.h"
#include "analysis/call/transfer_state.h"
#include "common/error.h"
#include "common/thread_pool.h"
#include "common/vector.h"
#include "flow/view/shard.h"

/*
 * Limits after which a segment whose turn has come hands on its transfers: bounds memory, and keeps transfers in the
 * cache.
 */
#define TRANSFERS_MAX ((size_t)1 << 12)
#define SUMMARY_MAX ((size_t)1 << 16)

/* Number of unused parts that are kept, and their maximum capacity in transfers. */
#define SPARES 16
#define SPARE_MAX (2 * SUMMARY_MAX)

struct part {
	struct analysis_transfers transfers; /* if the observer takes pieces: only transfers outside pieces */
	struct analysis_summary summary;
	struct analysis_transfers found; /* transfers not yet tried for pieces */
	struct analysis_tracker tracker;
	struct view *view;
	const struct flow_segment *segment;
	struct analysis_place_cache *cache; /* of the worker that decodes the segment */
	bool opened;                        /* the first transfers were applied */
};

struct view {
	struct analysis_call_fold fold;
	uint64_t start_time;
	/* State of the fold. Only the segment with the number `turn` may use these members. */
	struct analysis_call_thread thread;
	bool has_thread;
	struct analysis_tracker before; /* state at the end of the last segment */
	struct flow_segment last;       /* last segment */
	/* the rest of the last segment, which waits for the transfers that follow; NULL: none */
	struct part *held;
	struct analysis_transfers joint;
	atomic_size_t turn;                        /* index of the first segment that waits to be emitted */
	struct analysis_call_shapes shapes;        /* shapes written to a shard */
	struct analysis_call_shapes_read *sources; /* shapes read, by source; owned */
	size_t source_count;
	struct analysis_place_cache **caches; /* by worker; NULL: none yet */
	struct analysis_place_cache *joins;   /* cache for analysis_transfers_join */
	unsigned workers;
	pthread_mutex_t lock;
	/* Protected by lock: unused parts, so that the system need not clear new memory. */
	struct part *spare[SPARES];
	size_t spare_count;
	bool summarises; /* the observer takes pieces */
};

/* ---- caches -------------------------------------------------------------------------------------- */

static struct analysis_place_cache *make_cache(const struct view *view)
{
	struct analysis_place_cache *cache = analysis_place_cache_new(view->fold.timeline, view->fold.functions,
								      view->start_time);

	if (!cache)
		common_fail_memory("calls", sizeof(cache));
	return cache;
}

static void free_caches(struct view *view)
{
	for (unsigned i = 0; view->caches && i < view->workers; i++)
		analysis_place_cache_free(view->caches[i]);
	free(view->caches);
	analysis_place_cache_free(view->joins);
}

/* ---- parts --------------------------------------------------------------------------------------- */

static void free_part(struct part *part)
{
	analysis_transfers_free(&part->transfers);
	analysis_transfers_free(&part->found);
	analysis_summary_free(&part->summary);
	free(part);
}

/* Returns an empty part, or NULL without memory. */
static struct part *make_part(struct view *view)
{
	struct part *part = NULL;

	pthread_mutex_lock(&view->lock);
	if (view->spare_count)
		part = view->spare[--view->spare_count];
	pthread_mutex_unlock(&view->lock);
	if (!part)
		part = calloc(1, sizeof(*part));
	if (!part)
		common_fail_memory("calls", sizeof(*part));
	return part;
}

static void return_part(struct view *view, struct part *part)
{
	const bool small = part->transfers.capacity <= SPARE_MAX && part->summary.node_capacity <= SPARE_MAX &&
			   part->summary.time_capacity <= SPARE_MAX && part->summary.sum_capacity <= SPARE_MAX;
	bool kept = false;

	part->transfers.count = 0;
	analysis_summary_clear(&part->summary);
	part->tracker = (struct analysis_tracker){0};
	part->opened = false;
	pthread_mutex_lock(&view->lock);
	if (view->spare_count < SPARES && small) {
		view->spare[view->spare_count++] = part;
		kept = true;
	}
	pthread_mutex_unlock(&view->lock);
	if (!kept)
		free_part(part);
}

/* ---- segments in order --------------------------------------------------------------------------- */

/* Returns the remaining transfers and pieces of the part. */
static struct analysis_call_part rest_of(struct part *part)
{
	return (struct analysis_call_part){
		.transfers = part->transfers.list,
		.count = part->transfers.count,
		.summary = &part->summary,
		.piece_count = part->summary.piece_count,
	};
}

/* Ends a part whose transfers were all applied. */
static void end_part(struct view *view, struct part *part)
{
	analysis_calls_pass(&view->thread, part->tracker.instructions, part->tracker.time);
	return_part(view, part);
}

/* Applies the held part. next: the part that follows; NULL: none. */
static int take_held(struct view *view, const struct analysis_call_part *next)
{
	struct part *held = view->held;
	struct analysis_call_part taken;
	int status;

	if (!held)
		return 0;
	taken = rest_of(held);
	taken.next = next;
	status = analysis_calls_take(&view->fold, &view->thread, &taken, 0);
	view->held = NULL;
	end_part(view, held);
	return status;
}

static int end_thread(struct view *view)
{
	const struct analysis_call_observer *observer = view->fold.observer;
	int status;

	if (!view->has_thread)
		return 0;
	status = take_held(view, NULL);
	if (status == 0)
		status = analysis_calls_end(&view->fold, &view->thread);
	if (status == 0 && observer->end)
		status = observer->end(observer->context, &view->thread);
	analysis_calls_free(&view->thread);
	view->has_thread = false;
	return status;
}

/*
 * Whether the segment belongs to the current thread. A thread may have several streams. A stream without a thread
 * counts as a thread of its own.
 */
static bool is_of_thread(const struct view *view, const struct flow_segment *segment)
{
	const struct flow_segment *last = &view->last;

	return last->group == segment->group ||
	       (segment->thread != FLOW_NONE && last->thread == segment->thread && last->process == segment->process);
}

/* Whether the segment begins at the end of the last segment. */
static bool is_next(const struct view *view, const struct flow_segment *segment)
{
	const struct flow_segment *last = &view->last;

	return last->stream == segment->stream && last->offset + last->size == segment->offset + segment->skip;
}

/* Begins a segment that does not follow the last segment of its thread directly. */
static int turn_to(struct view *view, const struct flow_segment *segment)
{
	const struct analysis_call_observer *observer = view->fold.observer;
	int status = 0;

	if (view->has_thread && is_of_thread(view, segment))
		status = take_held(view, NULL);
	else
		status = end_thread(view);
	if (status < 0)
		return status;
	view->before = (struct analysis_tracker){0};
	if (!view->has_thread) {
		analysis_calls_start(&view->thread, segment);
		view->has_thread = true;
		return observer->begin ? observer->begin(observer->context, &view->thread) : 0;
	}
	if (segment->switched)
		analysis_calls_off(&view->thread, segment->time);
	return 0;
}

/*
 * Prepares the segment's first transfers: applies the held part, and the transfers between the last segment and this
 * segment.
 */
static int open_part(struct view *view, const struct flow_segment *segment, struct part *part)
{
	const struct analysis_call_observer *observer = view->fold.observer;
	const struct analysis_call_part known = rest_of(part);
	struct analysis_call_part joint = {.next = &known};
	int status = 0;

	if (part->opened || !part->tracker.first.valid)
		return 0;
	part->opened = true;
	if (!view->has_thread || !is_of_thread(view, segment) || !is_next(view, segment))
		status = turn_to(view, segment);
	view->joint.count = 0;
	if (status == 0)
		status = analysis_transfers_join(&view->joint, &view->before, &part->tracker.first, view->joins,
						 segment);
	joint.transfers = view->joint.list;
	joint.count = view->joint.count;
	if (status == 0)
		status = take_held(view, &joint);
	if (status == 0)
		status = analysis_calls_take(&view->fold, &view->thread, &joint, 0);
	return status == 0 && observer->segment ? observer->segment(observer->context, &view->thread, segment) : status;
}

/* Applies the segment's transfers so far, except the last `kept`. Only when the segment's turn has come. */
static int take_part(struct view *view, const struct flow_segment *segment, struct part *part, size_t kept)
{
	struct analysis_transfers *transfers = &part->transfers;
	struct analysis_call_part taken = {.transfers = transfers->list, .summary = &part->summary};
	int status = analysis_summary_close(&part->summary, transfers->count);

	if (status == 0)
		status = open_part(view, segment, part);
	analysis_summary_before(&part->summary, transfers->count, kept, &taken.count, &taken.piece_count);
	kept = transfers->count - taken.count;
	if (status == 0)
		status = analysis_calls_take(&view->fold, &view->thread, &taken, kept);
	if (kept)
		memmove(transfers->list, transfers->list + taken.count, kept * sizeof(*transfers->list));
	transfers->count = kept;
	analysis_summary_drop(&part->summary, taken.count, taken.piece_count);
	return status;
}

/* ---- the view ------------------------------------------------------------------------------------ */

/* Moves transfers from `found` to pieces, or to `transfers` if they do not match. */
static int sort_out(struct part *part)
{
	struct analysis_transfers *found = &part->found, *others = &part->transfers;
	int status = 0;

	for (size_t i = 0; status >= 0 && i < found->count; i++) {
		status = analysis_summary_take(&part->summary, &found->list[i]);
		if (status)
			continue;
		status = analysis_summary_close(&part->summary, others->count);
		if (status == 0)
			status = COMMON_VECTOR_RESERVE(others->list, others->capacity, others->count + 1, "calls");
		if (status == 0)
			others->list[others->count++] = found->list[i];
	}
	found->count = 0;
	return status < 0 ? status : 0;
}

static bool is_much(const struct part *part)
{
	return part->transfers.count >= TRANSFERS_MAX || part->summary.node_count >= SUMMARY_MAX ||
	       part->summary.time_count >= SUMMARY_MAX || part->summary.sum_count >= SUMMARY_MAX;
}

/* Handles new transfers. Applies them if there are many and the segment's turn has come. */
static int take_found(struct view *view, struct part *part, const struct flow_segment *segment)
{
	int status = view->summarises ? sort_out(part) : 0;

	/* All earlier segments have been emitted, and no segment is emitted while this segment is decoded. */
	if (status == 0 && is_much(part) && atomic_load_explicit(&view->turn, memory_order_acquire) == segment->index)
		status = take_part(view, segment, part, ANALYSIS_CALLS_AHEAD);
	return status;
}

/* Returns the list for new transfers. */
static struct analysis_transfers *place_of(const struct view *view, struct part *part)
{
	return view->summarises ? &part->found : &part->transfers;
}

static int take_step(void *partial, const struct flow_step *step, uint32_t *home_number)
{
	struct part *part = partial;
	const int status = analysis_transfers_step(place_of(part->view, part), &part->tracker, part->cache,
						   part->segment, step, home_number);

	return status < 0 ? status : take_found(part->view, part, part->segment);
}

/* Handles a step that pieces cannot take, or transfers left by a run. */
static int take_otherwise(void *partial, const struct flow_step *step, uint32_t *home_number)
{
	struct part *part = partial;

	return step ? take_step(partial, step, home_number) : take_found(part->view, part, part->segment);
}

static int summarise_step(void *partial, const struct flow_step *step, uint32_t *home_number)
{
	struct part *part = partial;

	return analysis_summary_step(&part->summary, step, home_number);
}

static int begin_on(void *context, unsigned worker, const struct flow_segment *segment, void **partial)
{
	struct view *view = context;
	struct analysis_place_cache **cache = &view->caches[worker];
	struct part *part;

	if (!*cache)
		*cache = make_cache(view);
	part = *cache ? make_part(view) : NULL;
	*partial = part;
	if (part) {
		part->view = view;
		part->segment = segment;
		part->cache = *cache;
		part->summary.tree = &(*cache)->tree;
		part->summary.totals = view->fold.observer->sums ? &(*cache)->totals : NULL;
		part->summary.runs = &(*cache)->runs;
		part->summary.tracker = &part->tracker;
		part->summary.found = &part->found;
		part->summary.otherwise = take_otherwise;
		part->summary.owner = part;
	}
	return part ? 0 : PTL_NO_MEMORY;
}

static void call_drop(void *context, void *partial)
{
	return_part(context, partial);
}

static int call_consume(void *context, void *partial, const struct flow_segment *segment,
			const struct flow_batch *batch)
{
	struct view *view = context;
	struct part *part = partial;
	const int status = analysis_transfers_add(place_of(view, part), &part->tracker, part->cache, segment, batch);

	return status == 0 ? take_found(view, part, segment) : status;
}

/* The tree belongs to the worker, so the piece must end with the segment. */
static int complete_piece(void *context, void *partial)
{
	struct part *part = partial;

	(void)context;
	return analysis_summary_close(&part->summary, part->transfers.count);
}

static int call_emit(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon)
{
	struct view *view = context;
	struct part *part = partial;
	int status = take_part(view, segment, part, ANALYSIS_CALLS_AHEAD);

	(void)horizon;
	if (status < 0) {
		call_drop(view, part);
	} else if (part->opened) {
		view->before = part->tracker;
		view->last = *segment;
		if (part->transfers.count)
			view->held = part;
		else
			end_part(view, part);
	} else {
		/* The segment has no blocks or events that show the flow's place: the last segment continues. */
		if (view->has_thread && is_next(view, segment))
			view->last = *segment;
		call_drop(view, part);
	}
	atomic_store_explicit(&view->turn, segment->index + 1, memory_order_release);
	return status;
}

/* ---- shards -------------------------------------------------------------------------------------- */

static int call_save(void *context, const struct flow_segment *segment, const void *partial, struct ptl_bytes *record)
{
	struct view *view = context;
	const struct part *part = partial;

	return analysis_call_shard_write(&view->shapes, segment, &part->transfers, &part->tracker, record);
}

/* Returns the shapes of a source; NULL without memory. */
static struct analysis_call_shapes_read *source_of(struct view *view, uint32_t source)
{
	while (view->source_count <= source) {
		if (!common_vector_room(&view->sources, view->source_count, sizeof(*view->sources)))
			return NULL;
		view->sources[view->source_count++] = (struct analysis_call_shapes_read){0};
	}
	return &view->sources[source];
}

static int call_load(void *context, const struct flow_segment *segment, struct common_cursor *record, void **result)
{
	struct view *view = context;
	struct analysis_call_shapes_read *shapes = source_of(view, segment->source);
	struct part *part = make_part(view);

	*result = part;
	if (!part)
		return PTL_NO_MEMORY;
	if (!shapes)
		return common_fail_memory("calls", view->source_count * sizeof(*shapes));
	return analysis_call_shard_read(shapes, segment, view->fold.timeline, view->fold.functions, record,
					&part->transfers, &part->tracker);
}

static const struct flow_view_codec codec = {.name = "calls", .save = call_save, .load = call_load};

static void free_shapes(struct view *view)
{
	analysis_call_shapes_free(&view->shapes);
	for (size_t i = 0; i < view->source_count; i++)
		analysis_call_shapes_read_free(&view->sources[i]);
	free(view->sources);
}

/* ---- the run ------------------------------------------------------------------------------------- */

int analysis_calls_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
		       const struct flow_view_options *options, struct analysis_function_table *functions,
		       const struct analysis_call_observer *observer)
{
	struct view view = {
		.fold = {.functions = functions, .timeline = timeline, .observer = observer},
		.start_time = ptl_trace_machine(trace)->start_time,
		.workers = options->threads ? options->threads : common_cpu_count(),
		.summarises = observer->piece && !options->shard,
	};
	struct flow_view methods = {
		.context = &view,
		.begin_on = begin_on,
		.consume = call_consume,
		.step = view.summarises ? summarise_step : take_step,
		.complete = complete_piece,
		.emit = call_emit,
		.drop = call_drop,
		.codec = &codec,
	};
	struct flow_view_options in_order = *options;
	int status;

	in_order.by_time = false;
	/* Shards only save transfers: no segment's turn ever comes. */
	atomic_init(&view.turn, options->shard && options->shard->count ? SIZE_MAX : 0);
	pthread_mutex_init(&view.lock, NULL);
	view.caches = calloc(view.workers, sizeof(*view.caches));
	view.joins = make_cache(&view);
	status = view.caches && view.joins ? flow_view_run(trace, timeline, &in_order, &methods)
					   : common_fail_memory("calls", view.workers * sizeof(*view.caches));
	if (status == 0)
		status = end_thread(&view);
	if (view.has_thread)
		analysis_calls_free(&view.thread);
	if (view.held)
		free_part(view.held);
	analysis_transfers_free(&view.joint);
	free_shapes(&view);
	while (view.spare_count)
		free_part(view.spare[--view.spare_count]);
	pthread_mutex_destroy(&view.lock);
	free_caches(&view);
	return status;
}
