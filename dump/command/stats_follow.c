/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ptl-dump stats --follow: counts a segment once, after the next PSB of its stream has arrived. Counts the rest of a
 * stream after its last PSB again each time.
 */
#include <stdlib.h>
#include <time.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "common/text/text.h"
#include "dump/command/stats.h"
#include "dump/run/follow.h"
#include "dump/run/run.h"

#define SECOND 1000000000u
#define PERIOD (SECOND / 2)
/* Limits decoding to a third of the time. */
#define PAUSE_FACTOR 2

struct follow {
	struct dump_run *run;
	struct analysis_stats_wanted wanted;
	struct flow_timeline *timeline; /* timeline whose numbers `done` uses; NULL: none yet */
	struct analysis_stats done;     /* counts of complete segments */
	struct common_hash_map counted; /* by stream: offset up to which segments are in `done` */
	bool whole;                     /* selects complete segments; else the others */
	size_t buffers;                 /* number of buffers at the last update */
	uint64_t due;
};

static uint64_t monotonic_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

/* ---- selection of segments --------------------------------------------------------------------------------------- */

/* Returns the begin of a stream's last segment. All segments are complete when the trace is complete. */
static uint64_t last_begin(struct ptl_trace *trace, uint32_t stream)
{
	const struct ptl_stream *info = ptl_stream_find(trace, stream);
	const struct ptl_psb *psbs;
	size_t count;

	if (ptl_realtime_over(trace))
		return UINT64_MAX;
	if (!info || ptl_psb_index(trace, stream, &psbs, &count) < 0)
		return 0;
	while (count && psbs[count - 1].offset >= info->bytes)
		count--;
	return count ? psbs[count - 1].offset : 0;
}

static void range(void *context, uint32_t stream, uint64_t *first, uint64_t *end)
{
	struct follow *follow = context;
	const uint64_t *counted = common_hash_map_get(&follow->counted, stream);
	const uint64_t last = last_begin(follow->run->trace, stream);

	*first = follow->whole ? (counted ? *counted : 0) : last;
	*end = follow->whole ? last : UINT64_MAX;
}

static int note_counted(struct follow *follow)
{
	const struct ptl_trace *trace = follow->run->trace;
	int status = 0;

	for (size_t i = 0; status == 0 && i < ptl_stream_count(trace); i++) {
		const struct ptl_stream *stream = ptl_stream_at(trace, i);

		if (stream->kind == PTL_KIND_PT)
			status = common_hash_map_put(&follow->counted, stream->id,
						     last_begin(follow->run->trace, stream->id));
	}
	return status;
}

/* ---- numbers of processes and threads ---------------------------------------------------------------------------- */

static uint64_t start_of(const struct flow_timeline *timeline, uint32_t process)
{
	return process == FLOW_NONE ? 0 : flow_timeline_process(timeline, process)->start;
}

static uint64_t start_of_thread(const struct flow_timeline *timeline, uint32_t thread)
{
	return thread == FLOW_NONE ? 0 : flow_timeline_thread(timeline, thread)->start;
}

/* Converts numbers of processes and threads to the new timeline: late events may have inserted others before. */
static void renumber(struct follow *follow, struct flow_timeline *timeline)
{
	for (size_t i = 0; i < follow->done.thread_count; i++) {
		struct analysis_thread_stats *thread = &follow->done.threads[i];

		if (thread->thread != FLOW_NONE)
			thread->thread = flow_timeline_thread_at(timeline, thread->pid, thread->tid,
								 start_of_thread(follow->timeline, thread->thread));
		if (thread->process != FLOW_NONE)
			thread->process = flow_timeline_process_at(timeline, thread->pid,
								   start_of(follow->timeline, thread->process));
	}
	for (size_t i = 0; i < follow->done.gap_count; i++) {
		struct analysis_gap *gap = &follow->done.gaps[i];

		if (gap->process != FLOW_NONE)
			gap->process = flow_timeline_process_at(timeline, gap->pid,
								start_of(follow->timeline, gap->process));
	}
	flow_timeline_free(follow->timeline);
	follow->timeline = timeline;
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

/* Adds the counts of the selected segments to `sum`. */
static int count_segments(struct follow *follow, bool whole, struct analysis_stats *sum)
{
	struct flow_view_options options = dump_run_view_options(follow->run);
	struct analysis_stats stats;
	int status;

	follow->whole = whole;
	options.selection.range = range;
	options.selection.range_context = follow;
	options.progress = NULL;
	status = analysis_stats_run(follow->run->trace, follow->timeline, &options, &follow->wanted, &stats);
	if (status < 0)
		return status;
	status = analysis_stats_add(sum, &stats, follow->wanted.gap_limit);
	analysis_stats_free(&stats);
	return status;
}

/* Removes the gaps: a packet may be cut at the current end of the file, which is no gap. */
static void forget_gaps(struct analysis_stats *stats)
{
	struct analysis_counts *counts = &stats->total;

	for (size_t i = 0; i <= stats->thread_count; i++) {
		counts->gaps = counts->overflows = 0;
		for (size_t cause = 0; cause < FLOW_GAP_COUNT; cause++)
			counts->gap_causes[cause] = counts->gap_bytes[cause] = 0;
		if (i < stats->thread_count)
			counts = &stats->threads[i].counts;
	}
	stats->gap_count = 0;
}

static void show_time(const struct dump_run *run)
{
	const struct ptl_machine *machine = ptl_trace_machine(run->trace);
	struct ptl_bytes text = {0};
	uint64_t end = 0;

	for (size_t i = 0; i < ptl_stream_count(run->trace); i++) {
		const struct ptl_stream *stream = ptl_stream_at(run->trace, i);

		end = stream->last_time > end ? stream->last_time : end;
	}
	common_text_time(&text, end, machine->start_time);
	fprintf(run->out, "%s%s ms%s\n", dump_bold(run), common_text_string(&text), dump_plain(run));
	common_bytes_free(&text);
}

static int show_stats_so_far(struct follow *follow)
{
	struct dump_run *run = follow->run;
	struct analysis_stats all = {0};
	int status = count_segments(follow, false, &all);

	forget_gaps(&all);
	if (status == 0)
		status = analysis_stats_add(&all, &follow->done, follow->wanted.gap_limit);
	if (status == 0 && !run->options->json)
		show_time(run);
	if (status == 0)
		status = dump_stats_print(run, follow->timeline, &all, 0);
	if (status == 0 && !run->options->json)
		fputc('\n', run->out);
	analysis_stats_free(&all);
	return status;
}

static int update(struct follow *follow)
{
	struct flow_timeline *timeline;
	int status = flow_timeline_build(follow->run->trace, &timeline);

	if (status < 0)
		return status;
	renumber(follow, timeline);
	status = count_segments(follow, true, &follow->done);
	if (status == 0)
		status = note_counted(follow);
	return status == 0 ? show_stats_so_far(follow) : status;
}

static int stats_idle(struct dump_run *run)
{
	struct follow *follow = run->idle_context;
	const uint64_t start = monotonic_now();
	const size_t buffers = ptl_buffer_count(run->trace);
	int status;

	if (!ptl_realtime_over(run->trace) && (start < follow->due || buffers == follow->buffers))
		return 0;
	follow->buffers = buffers;
	status = update(follow);
	follow->due = monotonic_now() + PAUSE_FACTOR * (monotonic_now() - start);
	follow->due = follow->due > start + PERIOD ? follow->due : start + PERIOD;
	return status;
}

int dump_stats_follow(struct dump_run *run, const struct analysis_stats_wanted *wanted)
{
	struct follow follow = {.run = run, .wanted = *wanted};
	int status;

	run->idle = stats_idle;
	run->idle_context = &follow;
	status = dump_follow_wait(run);
	analysis_stats_free(&follow.done);
	flow_timeline_free(follow.timeline);
	common_hash_map_free(&follow.counted);
	return status;
}
