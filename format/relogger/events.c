/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes events from the inputs through the stages to their streams. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/error.h"
#include "format/reader/parts.h"
#include "format/relogger/relogger_internal.h"
#include "format/writer/copy.h"

#define CALLS_BETWEEN_LOOKS 4096

/*
 * Whether an event keeps the order of the current event's stream: its time is between the last written time and the
 * current event's time. The current event itself always counts as in order, even if its stream was out of order before.
 */
static bool is_in_order(const struct ptl_relogger *relogger, uint64_t time)
{
	const struct format_relogger_stream *current = relogger->current;

	return current && (time == relogger->time || (time < relogger->time && time >= current->last_time));
}

static int write_event(struct ptl_relogger *relogger, const struct ptl_event *event)
{
	struct format_relogger_stream *stream = relogger->current;
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
	const size_t before = relogger->stage;
	struct format_relogger_stage *next;
	int status;

	while (stage < relogger->stage_count && !relogger->stages[stage]->callbacks.event)
		stage++;
	if (stage == relogger->stage_count)
		return write_event(relogger, event);
	next = relogger->stages[stage];
	next->event.record = *event;
	next->event.input = input;
	relogger->stage = stage;
	status = next->callbacks.event(next->context, relogger, &next->event);
	relogger->stage = before;
	return status;
}

int format_relogger_take_event(void *context, const struct format_merge_place *place, const struct ptl_event *event)
{
	struct ptl_relogger *relogger = context;
	struct ptl_relogger_input *input = relogger->inputs[relogger->first_input + place->input];
	struct format_relogger_stream *stream;
	struct ptl_event changed;

	relogger->counts.events_read++;
	if (++relogger->calls % CALLS_BETWEEN_LOOKS == 0) {
		const int status = format_relogger_check(relogger);

		if (status)
			return status;
	}
	if (input->changed) {
		int status;

		changed = *event;
		status = ptl_relogger_map_event(input, &changed);
		if (status)
			return status;
		event = &changed;
	}
	if (relogger->dedup.any) {
		int status = 0;

		if (event->time != relogger->dedup.time && relogger->dedup.counts.used)
			status = format_dedup_flush(relogger);
		if (!status)
			status = format_dedup_event(relogger, input, place->stream, event);
		if (status)
			return status == FORMAT_DEDUP_DROP ? 0 : status;
	}
	stream = &input->streams[place->stream];
	relogger->input = input;
	relogger->current = stream->leader ? stream->leader : stream;
	relogger->time = event->time;
	return format_relogger_pass(relogger, 0, event, input);
}

/* Merges the events of some inputs in order of time. */
static int merge_inputs(struct ptl_relogger *relogger, size_t first, size_t count)
{
	struct format_merge_input *inputs = calloc(count, sizeof(*inputs));
	int status;

	if (!inputs)
		return common_fail_memory("inputs", count * sizeof(*inputs));
	for (size_t i = 0; i < count; i++)
		inputs[i] = (struct format_merge_input){relogger->inputs[first + i]->trace,
							relogger->inputs[first + i]->time_shift};
	relogger->first_input = first;
	status = format_merge_events(inputs, count, NULL, format_relogger_take_event, relogger);
	free(inputs);
	if (status == PTL_NO_MEMORY && relogger->input)
		status = common_fail_in(status, "%s", relogger->input->name);
	if (!status)
		status = format_dedup_flush(relogger);
	relogger->current = NULL;
	relogger->input = NULL;
	return status;
}

bool format_relogger_looks_at_events(const struct ptl_relogger *relogger)
{
	for (size_t i = 0; i < relogger->stage_count; i++)
		if (relogger->stages[i]->callbacks.event)
			return true;
	return false;
}

/* Copies event buffers that no stage decodes, and all other streams as well if no stage needs them either. */
static int copy_input(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	const struct ptl_trace *trace = input->trace;
	int status = 0;

	if (input->whole)
		return format_relogger_copy_whole(relogger, input);
	for (size_t i = 0; !status && i < ptl_stream_count(trace); i++)
		if (ptl_stream_at(trace, i)->kind == PTL_KIND_EVENTS)
			status = format_relogger_copy_stream(relogger, input, i, NULL);
	return status;
}

int format_relogger_pass_events(struct ptl_relogger *relogger)
{
	int status = 0;

	if (format_relogger_looks_at_events(relogger) || relogger->dedup.any)
		return merge_inputs(relogger, 0, relogger->input_count);
	for (size_t i = 0; !status && i < relogger->input_count; i++)
		status = relogger->inputs[i]->changed ? merge_inputs(relogger, i, 1)
						      : copy_input(relogger, relogger->inputs[i]);
	return status;
}

int ptl_relogger_inject(struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	if (!relogger->writer || relogger->ended)
		return common_fail(PTL_MISUSE, "events can be injected from begin to end only");
	return format_relogger_pass(relogger, relogger->stage + 1, &event->record, event->input);
}

int ptl_relogger_inject_record(struct ptl_relogger *relogger, const struct ptl_event *event)
{
	struct ptl_event injected = *event;

	if (!relogger->writer || relogger->ended)
		return common_fail(PTL_MISUSE, "events can be injected from begin to end only");
	injected.flags |= PTL_EVENT_INJECTED;
	return format_relogger_pass(relogger, relogger->stage + 1, &injected,
				    relogger->input ? relogger->input : relogger->inputs[0]);
}
