/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ptl-dump flow --follow: repeatedly shows the flow between the last shown time and the time up to which the trace is
 * complete.
 */
#include <time.h>

#include "common/error.h"
#include "dump/command/flow.h"
#include "dump/flow/flow_view.h"
#include "dump/run/follow.h"
#include "dump/run/run.h"

#define SECOND 1000000000u
#define PERIOD (SECOND / 4)
/* Limits decoding to a third of the time. */
#define PAUSE_FACTOR 2
#define THREAD_WIDTH 24

struct follow {
	struct dump_run *run;
	struct dump_flow_print *print;
	const struct query_row *where;
	uint64_t from; /* trace clock; earlier flow was shown */
	uint64_t due;
};

static uint64_t monotonic_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

/* Skips streams that ended before the span. */
static void range(void *context, uint32_t stream, uint64_t *first, uint64_t *end)
{
	const struct follow *follow = context;
	const struct ptl_stream *info = ptl_stream_find(follow->run->trace, stream);

	*end = UINT64_MAX;
	*first = info && info->last_time < follow->from ? UINT64_MAX : 0;
}

static int show_until(struct follow *follow, uint64_t last)
{
	struct dump_run *run = follow->run;
	const struct flow_options *options = (const struct flow_options *)run->options;
	struct flow_view_options view_options = dump_run_view_options(run);
	struct dump_flow_run flow_run = {
		.run = run,
		.print = follow->print,
		.format = options->shared.json ? &dump_flow_json : &dump_flow_text,
		.where = follow->where,
	};
	int status = flow_symbols_open(run->trace, follow->print->timeline, dump_run_names(run),
				       &follow->print->symbols);

	view_options.by_time = options->merge;
	view_options.selection.first_time = follow->from;
	view_options.selection.last_time = last == UINT64_MAX ? 0 : last;
	view_options.selection.range = range;
	view_options.selection.range_context = follow;
	view_options.progress = NULL;
	if (!view_options.threads)
		view_options.threads = dump_flow_threads(options->level);
	if (status == 0)
		status = dump_flow_view_run(&flow_run, &view_options);
	flow_symbols_close(follow->print->symbols);
	follow->print->symbols = NULL;
	return status;
}

static int update(struct follow *follow, uint64_t last)
{
	struct flow_timeline *timeline;
	int status = flow_timeline_build(follow->run->trace, &timeline);

	if (status < 0)
		return status;
	follow->print->timeline = timeline;
	status = show_until(follow, last);
	follow->from = last == UINT64_MAX ? last : last + 1;
	flow_timeline_free(timeline);
	return status;
}

static int flow_idle(struct dump_run *run)
{
	struct follow *follow = run->idle_context;
	const uint64_t start = monotonic_now(), last = ptl_realtime_horizon(run->trace);
	int status;

	if (last < follow->from || (start < follow->due && !ptl_realtime_over(run->trace)))
		return 0;
	status = update(follow, last);
	follow->due = monotonic_now() + PAUSE_FACTOR * (monotonic_now() - start);
	follow->due = follow->due > start + PERIOD ? follow->due : start + PERIOD;
	return status;
}

int dump_flow_follow(struct dump_run *run, struct dump_flow_print *print, const struct query_row *where)
{
	struct follow follow = {.run = run, .print = print, .where = where, .from = 1};

	if (ptl_trace_machine(run->trace)->timing == PTL_TIMING_NONE)
		return common_fail(PTL_MISUSE, "--follow needs times in the packets, and this trace is recorded with "
					       "--timing none");
	print->thread_width = THREAD_WIDTH;
	run->idle = flow_idle;
	run->idle_context = &follow;
	return dump_follow_wait(run);
}
