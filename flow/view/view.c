/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a view: decodes segments on all workers, and merges partial results in order. */
#include "flow/view/view.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/thread_pool.h"
#include "flow/engine/produce.h"
#include "flow/engine/turn_flow.h"
#include "flow/view/shard.h"
#include "flow/view/together.h"
#include "flow/view/window.h"

/*
 * Bytes of a job. A job is a number of neighbouring segments. A job must be so large that handing over costs little
 * compared with decoding. If there are enough segments for all workers, a job is about as large as a buffer of the
 * file, so that workers decompress different buffers instead of waiting for one buffer.
 */
#define JOB_BYTES_MIN ((uint64_t)64 << 10)
#define JOB_BYTES_MAX ((uint64_t)512 << 10)
#define JOBS_PER_THREAD 4
/*
 * Bytes of a counting job. Counting decodes several segments of a job side by side, and slows down at the job's end,
 * when few segments are left. Workers that need the same buffer at the same time wait for each other. So few jobs are
 * better. Jobs become smaller towards the end of the run, so that all workers end at the same time.
 */
#define COUNT_BYTES_MIN ((uint64_t)256 << 10)
#define COUNT_BYTES_MAX ((uint64_t)8 << 20)
/*
 * Maximum segments of a job. Damage may make many small segments, and the partial result of a small segment is as large
 * as any other. The limit bounds the number of partial results in memory.
 */
#define JOB_SEGMENTS_MAX 4096
/* buffers of each worker's first job that threads without code to load decompress */
#define AHEAD 8

struct job {
	size_t first; /* place in order */
	size_t count;
	void **partials; /* partial results of the segments, between decode_job and finish_job */
};

struct run {
	struct ptl_trace *trace;
	struct flow_code *code;
	const struct flow_view_options *options;
	const struct flow_view *view;
	struct flow_segment_list list;
	const struct flow_segment **order; /* segments in the order of finishing */
	uint64_t *horizons;                /* by place in order; only for emit by time */
	struct job *jobs;
	size_t job_count;
	unsigned threads; /* number of threads with jobs */
	struct flow_source *workers;
	struct flow_window *windows; /* by worker; NULL: no batch is cut */
	atomic_bool counts_failed;   /* the last counts were not given to the view, for lack of memory */
	struct flow_merger merger;
	struct flow_together together;
	struct flow_shard_saver *saver; /* NULL: results are not saved */
	uint64_t done;                  /* bytes done */
};

/* ---- on workers -------------------------------------------------------------------------- */

struct consumer {
	const struct flow_view *view;
	const struct flow_segment *segment;
	struct flow_window *window;
	const struct flow_spans *spans; /* NULL: all flow */
	struct flow_span_place place;
	void *partial;
};

static int take_batch(void *context, const struct flow_batch *batch)
{
	struct consumer *consumer = context;
	struct flow_batch cut;

	if (consumer->window) {
		int status = flow_window_cut(consumer->window, batch, &cut);

		if (!status && consumer->spans)
			status = flow_span_cut(&consumer->place, &consumer->window->of_spans, &cut, &cut);
		if (status < 0)
			return status;
		batch = &cut;
	}
	return consumer->view->consume(consumer->view->context, consumer->partial, consumer->segment, batch);
}

static int open_flow_source(struct run *run, struct flow_source *source)
{
	if (source->engine)
		return 0;
	return flow_source_open(source, run->trace, run->code,
				run->options->engine ? run->options->engine : flow_engine_default(),
				flow_engine_default());
}

static int fail_segment(int status, const struct flow_segment *segment)
{
	return common_fail_in(status, "cannot decode stream %u at offset %llu", segment->stream,
			      (unsigned long long)segment->offset);
}

static int begin_segment(const struct run *run, unsigned worker, const struct flow_segment *segment, void **partial)
{
	const struct flow_view *view = run->view;

	return view->begin_on ? view->begin_on(view->context, worker, segment, partial)
			      : view->begin(view->context, segment, partial);
}

/* Makes an empty partial result, and a sink that adds to the result. */
static int open_consumer(struct run *run, unsigned worker, const struct flow_segment *segment,
			 struct consumer *consumer, struct flow_sink *sink)
{
	int status;

	*consumer = (struct consumer){
		.view = run->view,
		.segment = segment,
		.window = run->windows ? &run->windows[worker] : NULL,
		.spans = run->options->spans,
	};
	if (consumer->spans)
		consumer->place = flow_span_start(consumer->spans, segment->index);
	status = begin_segment(run, worker, segment, &consumer->partial);
	/* A window cuts batches, so steps are not used. */
	*sink = (struct flow_sink){
		.take = take_batch,
		.context = consumer,
		.step = run->windows ? NULL : run->view->step,
		.step_context = consumer->partial,
	};
	return status;
}

static int close_consumer(const struct run *run, const struct consumer *consumer)
{
	return run->view->complete ? run->view->complete(run->view->context, consumer->partial) : 0;
}

static int decode_segment(struct run *run, unsigned worker, const struct flow_segment *segment, void **partial)
{
	struct flow_source *source = &run->workers[worker];
	struct consumer consumer = {0};
	struct flow_sink sink;
	int status = open_flow_source(run, source);

	if (!status)
		status = open_consumer(run, worker, segment, &consumer, &sink);
	*partial = consumer.partial;
	if (status < 0)
		return status;
	status = flow_produce(source, segment, &sink);
	if (!status)
		status = close_consumer(run, &consumer);
	return status < 0 ? fail_segment(status, segment) : 0;
}

struct turn_job {
	struct consumer consumer;
	struct flow_sink sink;
};

/* Decodes the segment at this place, and the segments linked to this segment. */
static int decode_together(struct run *run, unsigned worker, size_t place, void **partial)
{
	const size_t count = flow_together_count(&run->together, place);
	struct flow_source *source = &run->workers[worker];
	struct flow_turn_target *targets = calloc(count, sizeof(*targets));
	struct turn_job *jobs = calloc(count, sizeof(*jobs));
	int status = targets && jobs ? open_flow_source(run, source)
				     : common_fail_memory("turns", count * sizeof(*jobs));

	for (size_t i = 0, at = place; !status && i < count; i++, at = run->together.next[at]) {
		targets[i] = (struct flow_turn_target){run->order[at], &jobs[i].sink};
		status = open_consumer(run, worker, run->order[at], &jobs[i].consumer, &jobs[i].sink);
		*(i ? &run->together.partials[at] : partial) = jobs[i].consumer.partial;
	}
	if (!status)
		status = flow_turns_produce(source, targets, count);
	for (size_t i = 0; !status && i < count; i++)
		status = close_consumer(run, &jobs[i].consumer);
	free(jobs);
	free(targets);
	return status < 0 ? fail_segment(status, run->order[place]) : 0;
}

/* Decodes the segment at this place, alone or with linked segments. */
static int decode_place(struct run *run, unsigned worker, size_t place, void **partial)
{
	if (flow_together_follows(&run->together, place))
		return 0;
	return run->together.count && run->together.next[place]
		       ? decode_together(run, worker, place, partial)
		       : decode_segment(run, worker, run->order[place], partial);
}

/* Checks whether the segment is counted side by side with other segments. */
static bool is_counted(const struct run *run, size_t place)
{
	return !run->together.count || !run->order[place]->turns;
}

/* Counts all segments of the job without linked segments. */
static int count_segments(struct run *run, unsigned worker, struct job *job, struct flow_portion *portion,
			  const struct flow_segment **segments, struct consumer *consumers, struct flow_sink *sinks)
{
	struct flow_source *source = &run->workers[worker];
	size_t failed = 0;
	int status = open_flow_source(run, source);

	*portion = (struct flow_portion){segments, sinks, 0};
	for (size_t i = 0; !status && i < job->count; i++) {
		const size_t at = portion->count;

		if (!is_counted(run, job->first + i))
			continue;
		segments[at] = run->order[job->first + i];
		status = open_consumer(run, worker, segments[at], &consumers[at], &sinks[at]);
		job->partials[i] = consumers[at].partial;
		portion->count++;
	}
	if (!status) {
		status = flow_count(source, portion, run->view->counts ? &run->view->counts[worker] : NULL, &failed);
		if (status < 0)
			fail_segment(status, segments[failed]);
	}
	return status;
}

static int count_job(struct run *run, unsigned worker, struct job *job)
{
	const struct flow_segment **segments = calloc(job->count, sizeof(const struct flow_segment *));
	struct consumer *consumers = calloc(job->count, sizeof(*consumers));
	struct flow_sink *sinks = calloc(job->count, sizeof(*sinks));
	struct flow_portion portion;
	int status = segments && consumers && sinks
			     ? count_segments(run, worker, job, &portion, segments, consumers, sinks)
			     : common_fail_memory("job", job->count * sizeof(*consumers));

	for (size_t i = 0; !status && i < job->count; i++)
		if (!is_counted(run, job->first + i))
			status = decode_place(run, worker, job->first + i, &job->partials[i]);
	free(segments);
	free(consumers);
	free(sinks);
	return status;
}

static int decode_job(void *context, unsigned worker, size_t index)
{
	struct run *run = context;
	struct job *job = &run->jobs[index];

	job->partials = calloc(job->count, sizeof(*job->partials));
	if (!job->partials)
		return common_fail_memory("job", job->count * sizeof(*job->partials));
	if (run->view->counts_only && !run->windows)
		return count_job(run, worker, job);
	for (size_t i = 0; i < job->count; i++) {
		int status = decode_place(run, worker, job->first + i, &job->partials[i]);

		if (status < 0)
			return status;
	}
	return 0;
}

/* ---- on the calling thread --------------------------------------------------------------- */

/* Takes the complete partial result of the i-th segment in order. */
static int take_partial(struct run *run, size_t i, void *partial)
{
	const struct flow_segment *segment = run->order[i];
	int status = 0;

	if (run->saver)
		status = flow_shard_save(run->saver, segment, partial);
	if (status < 0 || (run->saver && run->view->emit)) {
		run->view->drop(run->view->context, partial);
		return status;
	}
	return flow_merger_take(&run->merger, segment, partial, run->horizons ? run->horizons[i] : 0);
}

static int finish_job(void *context, size_t index)
{
	struct run *run = context;
	struct job *job = &run->jobs[index];

	for (size_t i = 0; i < job->count; i++) {
		const struct flow_segment *segment = run->order[job->first + i];
		void **const kept = flow_together_follows(&run->together, job->first + i)
					    ? &run->together.partials[job->first + i]
					    : &job->partials[i];
		void *partial = *kept;
		int status;

		*kept = NULL;
		status = take_partial(run, job->first + i, partial);
		if (status < 0)
			return status;
		run->done += segment->size - segment->skip;
	}
	free(job->partials);
	job->partials = NULL;
	if (run->options->progress)
		run->options->progress(run->options->progress_context, run->done, run->list.bytes);
	return 0;
}

/* ---- preparation ------------------------------------------------------------------------- */

/* Sorts by time; within a stream, a segment never comes before its predecessor. */
static int compare_times(const void *a_, const void *b_)
{
	const struct flow_segment *a = *(const struct flow_segment *const *)a_;
	const struct flow_segment *b = *(const struct flow_segment *const *)b_;

	if (a->order_time != b->order_time)
		return a->order_time < b->order_time ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/*
 * Checks whether segments with common turns are decoded together. Then segments are ordered by time, so that such
 * segments are close together, and each thread keeps a result.
 */
static bool shares_turns(const struct run *run)
{
	return run->list.turns && run->view->counts_only && !run->view->emit && !run->saver;
}

static int share_turns(struct run *run)
{
	run->merger.of_groups = calloc(run->list.groups + 1, sizeof(*run->merger.of_groups));
	if (!run->merger.of_groups)
		return common_fail_memory("results of threads", run->list.groups * sizeof(*run->merger.of_groups));
	run->merger.group_count = run->list.groups;
	return flow_together_make(&run->together, run->order, run->list.count);
}

static int make_order(struct run *run)
{
	size_t count = run->list.count;

	run->order = calloc(count + 1, sizeof(*run->order));
	if (!run->order)
		return common_fail_memory("order of segments", count * sizeof(*run->order));
	for (size_t i = 0; i < count; i++)
		run->order[i] = &run->list.segments[i];
	if (!shares_turns(run) && (!run->options->by_time || !run->view->emit))
		return 0;
	qsort(run->order, count, sizeof(*run->order), compare_times);
	if (shares_turns(run))
		return share_turns(run);
	run->horizons = calloc(count + 1, sizeof(*run->horizons));
	if (!run->horizons)
		return common_fail_memory("order of segments", count * sizeof(*run->horizons));
	for (size_t i = 0; i < count; i++)
		run->horizons[i] = i + 1 < count ? run->order[i + 1]->order_time : FLOW_TIME_END;
	return 0;
}

static uint64_t between(uint64_t least, uint64_t value, uint64_t most)
{
	if (value < least)
		return least;
	return value < most ? value : most;
}

/* Returns the bytes of the next job. left: bytes without a job. */
static uint64_t bytes_of_job(const struct run *run, unsigned threads, uint64_t left)
{
	/* Emitted results wait in memory until their place comes, so jobs are as small as possible. */
	if (run->view->emit)
		return 0;
	if (run->view->counts_only)
		return between(COUNT_BYTES_MIN, threads > 1 ? left / threads / 2 : left, COUNT_BYTES_MAX);
	return between(JOB_BYTES_MIN, run->list.bytes / threads / JOBS_PER_THREAD, JOB_BYTES_MAX);
}

/* Returns the bytes decoded for the segment at this place. */
static uint64_t bytes_at(const struct run *run, size_t place)
{
	const struct flow_segment *segment = run->order[place];

	if (flow_together_follows(&run->together, place))
		return 0;
	return run->together.count && run->together.next[place] ? segment->turns->size : segment->size;
}

static int make_jobs(struct run *run, unsigned threads)
{
	size_t count = run->list.count;
	uint64_t left = 0;

	run->jobs = calloc(count + 1, sizeof(*run->jobs));
	if (!run->jobs)
		return common_fail_memory("jobs", count * sizeof(*run->jobs));
	for (size_t i = 0; i < count; i++)
		left += bytes_at(run, i);
	for (size_t at = 0; at < count;) {
		const uint64_t job_bytes = bytes_of_job(run, threads, left);
		struct job *job = &run->jobs[run->job_count++];
		uint64_t bytes = 0;

		job->first = at;
		do
			bytes += bytes_at(run, at++);
		while (at < count && at - job->first < JOB_SEGMENTS_MAX && bytes + bytes_at(run, at) <= job_bytes);
		job->count = at - job->first;
		left -= bytes;
	}
	return 0;
}

static int make_workers(struct run *run, unsigned threads)
{
	const struct flow_selection *selection = &run->options->selection;

	run->workers = calloc(threads, sizeof(*run->workers));
	if (!run->workers)
		return common_fail_memory("workers", threads * sizeof(*run->workers));
	if (!selection->first_time && !selection->last_time && !run->options->spans)
		return 0;
	run->windows = calloc(threads, sizeof(*run->windows));
	if (!run->windows)
		return common_fail_memory("workers", threads * sizeof(*run->windows));
	for (unsigned i = 0; i < threads; i++) {
		run->windows[i].first_time = selection->first_time;
		run->windows[i].last_time = selection->last_time ? selection->last_time : FLOW_TIME_END;
	}
	return 0;
}

/* ---- while code is loaded ------------------------------------------------------------------ */

/* Decompresses buffer number i of the buffers with which workers begin. */
static void read_ahead(void *context, size_t i)
{
	struct run *run = context;
	const struct job *job = &run->jobs[i % run->threads];
	const struct flow_segment *first = run->order[job->first], *last = run->order[job->first + job->count - 1];

	if (first->stream == last->stream)
		ptl_stream_read_ahead(run->trace, first->stream, first->offset, last->offset + last->size,
				      i / run->threads);
}

static int load_code(struct run *run, const struct flow_timeline *timeline)
{
	const struct flow_code_idle idle = {run->threads * (size_t)AHEAD, run, read_ahead};

	return flow_code_open(run->trace, timeline, run->options->threads, run->threads > 1 ? &idle : NULL, &run->code);
}

static void close_flow_source(void *context, unsigned worker)
{
	struct run *run = context;

	if (run->view->counts && flow_count_end(&run->workers[worker]) < 0)
		run->counts_failed = true;
	flow_source_close(&run->workers[worker]);
}

static void clean_up(struct run *run, unsigned threads)
{
	for (size_t i = 0; i < run->job_count; i++) {
		for (size_t k = 0; run->jobs[i].partials && k < run->jobs[i].count; k++) {
			if (run->jobs[i].partials[k])
				run->view->drop(run->view->context, run->jobs[i].partials[k]);
		}
		free(run->jobs[i].partials);
	}
	for (size_t i = 0; i < run->together.count; i++)
		if (run->together.partials && run->together.partials[i])
			run->view->drop(run->view->context, run->together.partials[i]);
	flow_together_free(&run->together);
	flow_merger_free(&run->merger);
	free(run->merger.of_groups);
	for (unsigned i = 0; i < threads; i++) {
		if (run->workers)
			flow_source_close(&run->workers[i]);
		if (run->windows)
			flow_window_free(&run->windows[i]);
	}
	free(run->workers);
	free(run->windows);
	free(run->jobs);
	free(run->horizons);
	free(run->order);
	if (run->options->code)
		*run->options->code = run->code;
	else
		flow_code_close(run->code);
	flow_segments_free(&run->list);
}

/* Decodes the selected segments. */
static int run_all(struct ptl_trace *trace, const struct flow_timeline *timeline,
		   const struct flow_view_options *options, const struct flow_view *view,
		   struct flow_shard_saver *saver)
{
	struct run run = {.trace = trace, .options = options, .view = view, .merger = {view, NULL}, .saver = saver};
	unsigned threads = options->threads ? options->threads : common_cpu_count();
	int status = flow_segments_list(trace, timeline, &options->selection, &run.list);

	if (!status && saver)
		status = flow_shard_save_begin(saver, trace, &run.list);
	if (!status)
		status = make_order(&run);
	if (!status)
		status = make_jobs(&run, threads);
	if (threads > run.job_count)
		threads = run.job_count ? (unsigned)run.job_count : 1;
	run.threads = threads;
	if (!status && run.job_count) {
		const struct common_pipeline pipeline = {
			.count = run.job_count,
			.threads = threads,
			.context = &run,
			.work = decode_job,
			.finish = finish_job,
			.leave = close_flow_source,
		};

		status = make_workers(&run, threads);
		if (!status)
			status = load_code(&run, timeline);
		if (!status)
			status = common_pipeline_run(&pipeline);
		if (!status && run.counts_failed)
			status = common_fail_memory("counts of blocks", 0);
	}
	if (!status)
		status = flow_merger_finish(&run.merger, &run.list);
	if (!status && saver)
		status = flow_shard_save_end(saver);
	clean_up(&run, threads);
	return status;
}

/* Decodes one of several shards. */
static int run_shard(struct ptl_trace *trace, const struct flow_timeline *timeline,
		     const struct flow_view_options *options, const struct flow_view *view)
{
	struct flow_shard_saver saver = {.shard = options->shard, .view = view};
	struct flow_view_options own = *options;
	struct flow_segment_shard shard;
	int status = flow_segments_shard(trace, timeline, &options->selection, options->shard->number,
					 options->shard->count, &shard);

	if (status < 0)
		return status;
	own.selection.range = flow_segments_shard_range;
	own.selection.range_context = &shard;
	status = run_all(trace, timeline, &own, view, &saver);
	flow_shard_saver_free(&saver);
	flow_segments_shard_free(&shard);
	return status;
}

int flow_view_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
		  const struct flow_view_options *options, const struct flow_view *view)
{
	if (!options->shard)
		return run_all(trace, timeline, options, view, NULL);
	if (!view->codec)
		return common_fail(PTL_UNSUPPORTED, "what is asked for cannot be cut into shards");
	return options->shard->count ? run_shard(trace, timeline, options, view)
				     : flow_shard_load(trace, timeline, options, view);
}
