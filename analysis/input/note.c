/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes for the user: empty results, lost events. */
#include "analysis/input/input.h"

#include <inttypes.h>
#include <string.h>

#include "common/plural.h"
#include "common/program/message.h"

void analysis_note_nothing(const struct analysis_input *input, const char *what, bool any)
{
	const struct analysis_filter *filter = input->filter;
	const struct ptl_machine *machine = ptl_trace_machine(input->trace);
	const bool by_time = common_time_span_given(&filter->span);

	if (!any) {
		common_message_note("%s has no %s", input->path, what);
		return;
	}
	common_message_note("%s has %s, but none%s%s%s", input->path, what,
			    analysis_filter_is_narrowed(filter) ? " of what was asked for" : "",
			    by_time ? " in the span of --time" : "",
			    analysis_filter_is_narrowed(filter) || by_time ? "" : " that could be shown");
	if (by_time && machine->end_time > machine->start_time && filter->first_time > machine->end_time)
		common_message_hint("a span within 0s..%.9fs", (double)(machine->end_time - machine->start_time) / 1e9);
}

void analysis_note_no_flow(const struct analysis_input *input)
{
	const struct analysis_filter *filter = input->filter;
	const struct ptl_machine *machine = ptl_trace_machine(input->trace);
	const size_t count = ptl_stream_count(input->trace);
	bool any = false, events = false;

	for (size_t i = 0; i < count; i++) {
		const struct ptl_stream *stream = ptl_stream_at(input->trace, i);

		any |= stream->kind == PTL_KIND_PT && stream->bytes;
		events |= stream->kind == PTL_KIND_EVENTS && stream->bytes;
	}
	if (any && filter->last_time >= machine->start_time && common_time_span_given(&filter->span) &&
	    !(machine->end_time && filter->first_time > machine->end_time)) {
		common_message_note("nothing%s ran in the span of --time",
				    analysis_filter_is_narrowed(filter) ? " of what was asked for" : "");
		return;
	}
	analysis_note_nothing(input, "Intel PT", any);
	if (!any && events)
		common_message_hint("ptl-dump events %s    shows the events that it has", input->path);
}

void analysis_note_lost_events(const struct ptl_trace *trace)
{
	uint64_t events = 0;
	const char *cause = NULL;
	bool others = false;

	for (size_t i = 0; i < ptl_loss_count(trace); i++) {
		const struct ptl_loss *loss = ptl_loss_at(trace, i);

		if (loss->kind != PTL_LOSS_EVENTS)
			continue;
		events += loss->count;
		others |= cause && strcmp(cause, loss->cause) != 0;
		cause = cause ? cause : loss->cause;
	}
	if (events)
		common_message_warning(
			"%" PRIu64
			" " COMMON_PLURAL("event was", "events were") " lost, at least in part, when " COMMON_PLURAL(
				"it was", "they were") " recorded: %s%s",
			events, cause, others ? "; and for other causes" : "");
	else if (cause)
		common_message_warning("events were lost, at least in part, when they were recorded: %s%s", cause,
				       others ? "; and for other causes" : "");
}
