/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes the events of a trace: of a complete trace, or of a trace that is being written. */
#include "common/structure.h"
#include "format/reader/merge.h"
#include "format/reader/reader_internal.h"

#define PAUSE ((uint64_t)25 * 1000000) /* ns between two checks for new data */

/* --- a trace that is being written -------------------------------------------------------------------- */

struct realtime {
	struct ptl_trace *trace;
	const struct ptl_callbacks *callbacks;
	void *context;
	struct format_merge *merge;
};

static int give_growing_event(void *context, const struct format_merge_place *place, const struct ptl_event *event)
{
	const struct realtime *realtime = context;

	(void)place;
	return realtime->callbacks->event ? realtime->callbacks->event(realtime->context, realtime->trace, event) : 0;
}

/* Passes events until the trace is over. */
static int follow_trace(struct realtime *realtime)
{
	struct ptl_trace *trace = realtime->trace;
	bool more;
	int status = 0;

	for (;;) {
		const bool over = trace->growth->over;

		status = format_merge_run(realtime->merge, trace->growth->horizon);
		if (status || over)
			return status;
		status = ptl_realtime_wait(trace, PAUSE, &more);
		if (!status && more)
			status = format_merge_resume(realtime->merge);
		if (status)
			return status;
	}
}

static int process_growing(struct ptl_trace *trace, const struct ptl_event_filter *filter,
			   const struct ptl_callbacks *callbacks, void *context)
{
	struct realtime realtime = {.trace = trace, .callbacks = callbacks, .context = context};
	const struct format_merge_input input = {.trace = trace};
	int status = 0;

	trace->growth->processing = true;
	if (callbacks->begin)
		status = callbacks->begin(context, trace);
	if (!status)
		status = format_merge_new(&input, filter, give_growing_event, &realtime, &realtime.merge);
	if (!status)
		status = follow_trace(&realtime);
	format_merge_free(realtime.merge);
	if (!status && callbacks->end)
		status = callbacks->end(context, trace);
	trace->growth->processing = false;
	return status;
}

/* --- any trace ---------------------------------------------------------------------------------------- */

/* Arguments of ptl_process. */
struct process {
	struct ptl_trace *trace;
	const struct ptl_callbacks *callbacks;
	void *context;
};

static int give_event(void *context, const struct format_merge_place *place, const struct ptl_event *event)
{
	const struct process *process = context;

	(void)place;
	return process->callbacks->event(process->context, process->trace, event);
}

int ptl_process(struct ptl_trace *trace, const struct ptl_event_filter *filter, const struct ptl_callbacks *callbacks,
		void *context)
{
	struct ptl_event_filter times;
	struct ptl_callbacks called;
	struct process process = {trace, &called, context};
	const struct format_merge_input input = {.trace = trace};
	int status = common_structure_take_optional("ptl_event_filter", filter, &times, sizeof(times));

	if (!status)
		status = common_structure_take("ptl_callbacks", callbacks, &called, sizeof(called));
	if (status)
		return status;
	/* A call from within a callback passes the events available now. */
	if (trace->growth && !trace->growth->processing)
		return process_growing(trace, &times, &called, context);
	if (called.begin)
		status = called.begin(context, trace);
	if (!status)
		status = format_merge_events(&input, 1, &times, called.event ? give_event : NULL, &process);
	if (!status && called.end)
		status = called.end(context, trace);
	return status;
}
