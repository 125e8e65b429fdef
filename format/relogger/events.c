/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes the events of the inputs: merged by time through the stages, or copied. */
#include "format/relogger/events.h"

#include <stdlib.h>

#include "common/error.h"
#include "format/relogger/control.h"
#include "format/relogger/copy.h"
#include "format/relogger/dedup.h"
#include "format/relogger/ids.h"
#include "format/relogger/input.h"
#include "format/relogger/pass.h"
#include "format/relogger/relogger_internal.h"
#include "format/relogger/stages.h"

#define CALLS_BETWEEN_LOOKS 4096

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
	if (input->ids.changed) {
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
	relogger->current.input = input;
	relogger->current.stream = stream->leader ? stream->leader : stream;
	relogger->current.time = event->time;
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
							relogger->inputs[first + i]->clock.shift};
	relogger->first_input = first;
	status = format_merge_events(inputs, count, NULL, format_relogger_take_event, relogger);
	free(inputs);
	if (status == PTL_NO_MEMORY && relogger->current.input)
		status = common_fail_in(status, "%s", relogger->current.input->name);
	if (!status)
		status = format_dedup_flush(relogger);
	relogger->current.stream = NULL;
	relogger->current.input = NULL;
	return status;
}

/* Copies event buffers that no stage decodes, and all other streams as well if no stage needs them either. */
static int copy_input(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	const struct ptl_trace *trace = input->trace;
	int status = 0;

	if (input->whole.whole)
		return format_relogger_copy_whole(relogger, input);
	for (size_t i = 0; !status && i < ptl_stream_count(trace); i++)
		if (ptl_stream_at(trace, i)->kind == PTL_KIND_EVENTS)
			status = format_relogger_copy_stream(relogger, input, i, NULL);
	return status;
}

int format_relogger_pass_events(struct ptl_relogger *relogger)
{
	int status = 0;

	if (format_stages_take_events(relogger) || relogger->dedup.any)
		return merge_inputs(relogger, 0, relogger->input_count);
	for (size_t i = 0; !status && i < relogger->input_count; i++)
		status = relogger->inputs[i]->ids.changed ? merge_inputs(relogger, i, 1)
							  : copy_input(relogger, relogger->inputs[i]);
	return status;
}
