/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes an event through the stages to the output. */
#include "format/relogger/pass.h"

#include "common/error.h"
#include "format/relogger/relogger_internal.h"
#include "format/relogger/stages.h"
#include "format/relogger/stream.h"
#include "format/relogger/window.h"

/*
 * Whether an event keeps the order of the current event's stream: its time is between the last written time and the
 * current event's time. The current event itself always counts as in order, even if its stream was out of order before.
 */
static bool is_in_order(const struct ptl_relogger *relogger, uint64_t time)
{
	const struct format_relogger_stream *current = relogger->current.stream;

	return current &&
	       (time == relogger->current.time || (time < relogger->current.time && time >= current->last_time));
}

static int write_event(struct ptl_relogger *relogger, const struct ptl_event *event)
{
	struct format_relogger_stream *stream = relogger->current.stream;
	int status;

	if (!is_in_order(relogger, event->time))
		return format_window_add(relogger, event);
	status = ptl_writer_event(relogger->writer, stream->id, event);
	if (status)
		return status;
	stream->last_time = event->time;
	relogger->counts.events_written++;
	return 0;
}

int format_relogger_pass(struct ptl_relogger *relogger, size_t stage, const struct ptl_event *event,
			 struct ptl_relogger_input *input)
{
	const size_t before = relogger->stages.current;
	struct format_relogger_stage *next;
	int status;

	while (stage < relogger->stages.count && !relogger->stages.all[stage]->callbacks.event)
		stage++;
	if (stage == relogger->stages.count)
		return write_event(relogger, event);
	next = relogger->stages.all[stage];
	next->event.record = *event;
	next->event.input = input;
	relogger->stages.current = stage;
	status = next->callbacks.event(next->context, relogger, &next->event);
	relogger->stages.current = before;
	return status;
}

int ptl_relogger_inject(struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	if (!relogger->writer || relogger->ended)
		return common_fail(PTL_MISUSE, "events can be injected from begin to end only");
	return format_relogger_pass(relogger, relogger->stages.current + 1, &event->record, event->input);
}

int ptl_relogger_inject_record(struct ptl_relogger *relogger, const struct ptl_event *event)
{
	struct ptl_event injected = *event;

	if (!relogger->writer || relogger->ended)
		return common_fail(PTL_MISUSE, "events can be injected from begin to end only");
	injected.flags |= PTL_EVENT_INJECTED;
	return format_relogger_pass(relogger, relogger->stages.current + 1, &injected,
				    relogger->current.input ? relogger->current.input : relogger->inputs[0]);
}
