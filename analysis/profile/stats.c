/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts flow: counts of segments are added up for threads, and counts of threads for processes. */
#include "analysis/profile/stats.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/profile/address_log.h"
#include "analysis/profile/branch_tally.h"
#include "common/bytes.h"
#include "common/error.h"
#include "common/vector.h"
#include "flow/view/shard.h"

_Static_assert(sizeof(((struct analysis_thread_stats *)0)->ip_sha256) == COMMON_SHA256_SIZE, "a SHA-256");

/* Counts of one segment. */
struct partial {
	struct analysis_counts counts;
	struct analysis_gap_list gaps; /* first gaps */
	struct analysis_address_log log;
	struct analysis_branch_tally tally;
};

struct stats_view {
	struct analysis_stats *stats;
	struct analysis_stats_wanted wanted;
	struct analysis_branch_tally tally; /* tally of the current stream */
	size_t thread_capacity;
	struct analysis_gap_list gaps;
	size_t group;                 /* group of the last segments */
	struct common_sha256 *sha256; /* hash of the last thread */
};

/* ---- on workers -------------------------------------------------------------------------- */

static int stats_begin(void *context, const struct flow_segment *segment, void **partial)
{
	struct partial *made = calloc(1, sizeof(*made));

	(void)context;
	if (!made)
		return common_fail_memory("counts", sizeof(*made));
	made->counts.pt_bytes = segment->size - segment->skip;
	made->counts.segments = 1;
	*partial = made;
	return 0;
}

static void stats_drop(void *context, void *partial_)
{
	struct partial *partial = partial_;

	(void)context;
	analysis_gap_list_free(&partial->gaps);
	analysis_address_log_free(&partial->log);
	free(partial);
}

static int add_gap(struct stats_view *view, struct partial *partial, const struct flow_segment *segment,
		   const struct flow_event *event)
{
	partial->counts.gaps++;
	partial->counts.gap_causes[event->cause]++;
	partial->counts.gap_bytes[event->cause] += event->size;
	partial->counts.overflows += event->cause == FLOW_GAP_OVERFLOW;
	return analysis_gap_list_add(&partial->gaps, view->wanted.gap_limit, segment, event);
}

static int add_event(struct stats_view *view, struct partial *partial, const struct flow_segment *segment,
		     const struct flow_event *event)
{
	struct analysis_counts *counts = &partial->counts;

	counts->enabled += event->kind == FLOW_ENABLED;
	counts->disabled += event->kind == FLOW_DISABLED;
	counts->async_disabled += event->kind == FLOW_ASYNC_DISABLED;
	counts->async_branches += event->kind == FLOW_ASYNC_BRANCH;
	return event->kind == FLOW_GAP ? add_gap(view, partial, segment, event) : 0;
}

static int stats_consume(void *context, void *partial_, const struct flow_segment *segment,
			 const struct flow_batch *batch)
{
	struct stats_view *view = context;
	struct partial *partial = partial_;
	int status = 0;

	partial->counts.instructions += batch->instructions;
	partial->counts.blocks += batch->block_count + batch->counted_blocks;
	partial->counts.branches += batch->branches;
	for (size_t i = 0; !status && i < batch->event_count; i++)
		status = add_event(view, partial, segment, &batch->events[i]);
	if (view->wanted.taken)
		analysis_branch_tally_add(&partial->tally, batch);
	if (!status && view->wanted.hash)
		status = analysis_address_log_add(&partial->log, batch);
	return status;
}

/* ---- in order ---------------------------------------------------------------------------- */

static void add_counts(struct analysis_counts *sum, const struct analysis_counts *more)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)more;

	_Static_assert(sizeof(*sum) % sizeof(uint64_t) == 0, "counts are nothing but 64-bit numbers");
	for (size_t i = 0; i < sizeof(*sum) / sizeof(uint64_t); i++)
		to[i] += from[i];
}

static void end_thread(struct stats_view *view)
{
	struct analysis_stats *stats = view->stats;

	if (view->sha256 && stats->thread_count) {
		struct analysis_thread_stats *thread = &stats->threads[stats->thread_count - 1];

		common_sha256_finish(view->sha256, thread->ip_sha256);
		thread->has_hash = true;
	}
}

/* Checks whether the segment belongs to the last thread. The streams of a thread follow each other. */
static bool is_last_thread(const struct stats_view *view, const struct flow_segment *segment)
{
	const struct analysis_thread_stats *last;

	if (!view->stats->thread_count)
		return false;
	last = &view->stats->threads[view->stats->thread_count - 1];
	return segment->group == view->group ||
	       (segment->thread != FLOW_NONE && segment->thread == last->thread && segment->process == last->process);
}

static int find_thread(struct stats_view *view, const struct flow_segment *segment)
{
	struct analysis_stats *stats = view->stats;
	bool known = is_last_thread(view, segment);

	view->group = segment->group;
	if (known)
		return 0;
	end_thread(view);
	if (COMMON_VECTOR_RESERVE(stats->threads, view->thread_capacity, stats->thread_count + 1, "threads"))
		return PTL_NO_MEMORY;
	stats->threads[stats->thread_count++] = (struct analysis_thread_stats){
		.thread = segment->thread,
		.process = segment->process,
		.pid = segment->pid,
		.tid = segment->tid,
		.cpu = segment->cpu,
	};
	if (view->wanted.hash && !view->sha256)
		view->sha256 = common_sha256_new();
	return view->wanted.hash && !view->sha256 ? common_fail_memory("hash", 0) : 0;
}

/* Hashes addresses as 8 bytes little-endian, the byte order of this machine. */
static int hash_addresses(void *context, const uint64_t *addresses, size_t count)
{
	struct common_sha256 *sha256 = context;

	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "x86 only");
	common_sha256_add(sha256, addresses, count * sizeof(*addresses));
	return 0;
}

/* Merges neighbours of one stream. */
static int stats_merge(void *context, void *left_, void *right_)
{
	const struct stats_view *view = context;
	struct partial *left = left_, *right = right_;
	const int status = analysis_gap_list_join(&left->gaps, view->wanted.gap_limit, &right->gaps);

	add_counts(&left->counts, &right->counts);
	stats_drop(context, right);
	return status;
}

/* Adds the result of a stream, or of a part of a stream, to its thread. */
static int stats_finish(void *context, const struct flow_segment *segment, void *result)
{
	struct stats_view *view = context;
	struct partial *partial = result;
	int status = find_thread(view, segment);

	if (!status) {
		add_counts(&view->stats->threads[view->stats->thread_count - 1].counts, &partial->counts);
		add_counts(&view->stats->total, &partial->counts);
		status = analysis_gap_list_join(&view->gaps, view->wanted.gap_limit, &partial->gaps);
	}
	if (!status && view->wanted.hash)
		status = analysis_address_log_walk(&partial->log, hash_addresses, view->sha256);
	stats_drop(context, partial);
	return status;
}

/* Adds the segment's tally. The beginning of the next segment settles a branch at the end of this segment. */
static void join_tally(struct stats_view *view, const struct flow_segment *segment, struct partial *partial)
{
	const uint64_t taken = view->tally.taken, not_taken = view->tally.not_taken;

	analysis_branch_tally_join(&view->tally, &partial->tally);
	partial->counts.taken = view->tally.taken - taken;
	partial->counts.not_taken = view->tally.not_taken - not_taken;
	if (segment->last)
		view->tally = (struct analysis_branch_tally){0};
}

/* A hash needs addresses in order. Each segment is added at once, so that no segment has to wait. */
static int stats_emit(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon)
{
	(void)horizon;
	join_tally(context, segment, partial);
	return stats_finish(context, segment, partial);
}

/* ---- shards ------------------------------------------------------------------------------ */

static int stats_save(void *context, const struct flow_segment *segment, const void *partial_, struct ptl_bytes *record)
{
	const struct partial *partial = partial_;
	const uint64_t *counts = (const uint64_t *)&partial->counts;

	(void)context;
	(void)segment;
	for (size_t i = 0; i < sizeof(partial->counts) / sizeof(*counts); i++)
		common_write_varint(record, counts[i]);
	analysis_gap_list_write(&partial->gaps, record);
	analysis_branch_tally_write(&partial->tally, record);
	return 0;
}

static int stats_load(void *context, const struct flow_segment *segment, struct common_cursor *record, void **result)
{
	const struct stats_view *view = context;
	struct partial *partial;
	uint64_t *counts;
	int status = stats_begin(context, segment, result);

	if (status < 0)
		return status;
	partial = *result;
	counts = (uint64_t *)&partial->counts;
	for (size_t i = 0; i < sizeof(partial->counts) / sizeof(*counts); i++)
		counts[i] = common_read_varint(record);
	status = analysis_gap_list_read(&partial->gaps, view->wanted.gap_limit, segment, record);
	analysis_branch_tally_read(&partial->tally, record);
	return status;
}

static const struct flow_view_codec codec = {.name = "stats", .save = stats_save, .load = stats_load};

/* ---- sums -------------------------------------------------------------------------------- */

static bool is_same_process(const struct analysis_process_stats *process, const struct analysis_thread_stats *thread)
{
	return process->process == thread->process && process->pid == thread->pid;
}

/* Adds up threads for processes. Threads are grouped by process. */
static int sum_processes(struct analysis_stats *stats)
{
	stats->processes = calloc(stats->thread_count + 1, sizeof(*stats->processes));
	if (!stats->processes)
		return common_fail_memory("processes", stats->thread_count * sizeof(*stats->processes));
	for (size_t i = 0; i < stats->thread_count; i++) {
		const struct analysis_thread_stats *thread = &stats->threads[i];
		struct analysis_process_stats *process = &stats->processes[stats->process_count];

		if (!stats->process_count || !is_same_process(process - 1, thread)) {
			process->process = thread->process;
			process->pid = thread->pid;
			process->threads = thread;
			stats->process_count++;
		} else {
			process--;
		}
		process->thread_count++;
		add_counts(&process->counts, &thread->counts);
	}
	return 0;
}

int analysis_stats_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
		       const struct flow_view_options *options, const struct analysis_stats_wanted *wanted,
		       struct analysis_stats *stats)
{
	struct stats_view context = {.stats = stats, .wanted = *wanted};
	const bool walks = wanted->hash || wanted->taken;
	const struct flow_view view = {
		.context = &context,
		.counts_only = !walks,
		.begin = stats_begin,
		.consume = stats_consume,
		.merge = stats_merge,
		.finish = stats_finish,
		.emit = walks ? stats_emit : NULL,
		.drop = stats_drop,
		/* A hash needs all addresses in order, so partial results cannot be saved. */
		.codec = wanted->hash ? NULL : &codec,
	};
	struct flow_view_options in_order = *options;
	int status;

	*stats = (struct analysis_stats){0};
	in_order.by_time = false;
	status = flow_view_run(trace, timeline, &in_order, &view);
	end_thread(&context);
	common_sha256_free(context.sha256);
	stats->gaps = context.gaps.gaps;
	stats->gap_count = context.gaps.count;
	if (!status)
		status = sum_processes(stats);
	if (status < 0)
		analysis_stats_free(stats);
	return status;
}

static int compare_numbers(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_threads(const void *a_, const void *b_)
{
	const struct analysis_thread_stats *a = a_, *b = b_;
	int order = compare_numbers(a->process, b->process);

	order = order ? order : compare_numbers(a->pid, b->pid);
	order = order ? order : compare_numbers(a->thread, b->thread);
	order = order ? order : compare_numbers(a->tid, b->tid);
	return order ? order : compare_numbers(a->cpu, b->cpu);
}

/* Sorts threads, and joins equal threads. */
static void join_threads(struct analysis_stats *stats)
{
	size_t kept = 0;

	qsort(stats->threads, stats->thread_count, sizeof(*stats->threads), compare_threads);
	for (size_t i = 0; i < stats->thread_count; i++) {
		if (kept && compare_threads(&stats->threads[kept - 1], &stats->threads[i]) == 0)
			add_counts(&stats->threads[kept - 1].counts, &stats->threads[i].counts);
		else
			stats->threads[kept++] = stats->threads[i];
	}
	stats->thread_count = kept;
}

int analysis_stats_add(struct analysis_stats *sum, const struct analysis_stats *more, size_t gap_limit)
{
	const size_t threads = sum->thread_count + more->thread_count;
	const size_t room = gap_limit > sum->gap_count ? gap_limit - sum->gap_count : 0;
	const size_t gaps = more->gap_count < room ? more->gap_count : room;
	struct analysis_thread_stats *grown = realloc(sum->threads, (threads + 1) * sizeof(*grown));
	struct analysis_gap *grown_gaps;

	if (!grown)
		return common_fail_memory("threads", threads * sizeof(*grown));
	sum->threads = grown;
	grown_gaps = realloc(sum->gaps, (sum->gap_count + gaps + 1) * sizeof(*grown_gaps));
	if (!grown_gaps)
		return common_fail_memory("gaps", gaps * sizeof(*grown_gaps));
	sum->gaps = grown_gaps;
	if (gaps)
		memcpy(sum->gaps + sum->gap_count, more->gaps, gaps * sizeof(*more->gaps));
	sum->gap_count += gaps;
	if (more->thread_count)
		memcpy(sum->threads + sum->thread_count, more->threads, more->thread_count * sizeof(*more->threads));
	sum->thread_count = threads;
	add_counts(&sum->total, &more->total);
	join_threads(sum);
	free(sum->processes);
	sum->process_count = 0;
	return sum_processes(sum);
}

void analysis_stats_free(struct analysis_stats *stats)
{
	free(stats->processes);
	free(stats->threads);
	free(stats->gaps);
	*stats = (struct analysis_stats){0};
}
