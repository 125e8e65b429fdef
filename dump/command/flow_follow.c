/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ptl-dump flow --follow: repeatedly shows the flow between the last shown time and the time up to which the trace is
 * complete.
 */
#include <time.h>

#include "common/error.h"
#include "dump/command/flow.h"
#include "dump/print/flow_view.h"
#include "dump/session/follow.h"
#include "dump/session/session.h"

#define SECOND 1000000000u
#define PERIOD (SECOND / 4)
/* Limits decoding to a third of the time. */
#define PAUSE_FACTOR 2
#define THREAD_WIDTH 24

struct follow {
	struct dump_session *session;
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
	const struct ptl_stream *info = ptl_stream_find(follow->session->trace, stream);

	*end = UINT64_MAX;
	*first = info && info->last_time < follow->from ? UINT64_MAX : 0;
}

static int show_until(struct follow *follow, uint64_t last)
{
	struct dump_session *session = follow->session;
	const struct flow_options *options = (const struct flow_options *)session->options;
	struct flow_view_options view_options = dump_session_view_options(session);
	struct dump_flow_run run = {
		.session = session,
		.print = follow->print,
		.format = options->shared.json ? &dump_flow_json : &dump_flow_text,
		.where = follow->where,
	};
	int status = flow_symbols_open(session->trace, follow->print->timeline, !options->shared.no_demangle,
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
		status = dump_flow_view_run(&run, &view_options);
	flow_symbols_close(follow->print->symbols);
	follow->print->symbols = NULL;
	return status;
}

static int update(struct follow *follow, uint64_t last)
{
	struct flow_timeline *timeline;
	int status = flow_timeline_build(follow->session->trace, &timeline);

	if (status < 0)
		return status;
	follow->print->timeline = timeline;
	status = show_until(follow, last);
	follow->from = last == UINT64_MAX ? last : last + 1;
	flow_timeline_free(timeline);
	return status;
}

static int flow_idle(struct dump_session *session)
{
	struct follow *follow = session->idle_context;
	const uint64_t start = monotonic_now(), last = ptl_realtime_horizon(session->trace);
	int status;

	if (last < follow->from || (start < follow->due && !ptl_realtime_over(session->trace)))
		return 0;
	status = update(follow, last);
	follow->due = monotonic_now() + PAUSE_FACTOR * (monotonic_now() - start);
	follow->due = follow->due > start + PERIOD ? follow->due : start + PERIOD;
	return status;
}

int dump_flow_follow(struct dump_session *session, struct dump_flow_print *print, const struct query_row *where)
{
	struct follow follow = {.session = session, .print = print, .where = where, .from = 1};

	if (ptl_trace_machine(session->trace)->timing == PTL_TIMING_NONE)
		return common_fail(PTL_MISUSE, "--follow needs times in the packets, and this trace is recorded with "
					       "--timing none");
	print->thread_width = THREAD_WIDTH;
	session->idle = flow_idle;
	session->idle_context = &follow;
	return dump_follow_wait(session);
}
