/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes timeline data other than calls: events of programs and the kernel, threads of CPUs, and bytes of Intel PT. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/event/event_names.h"
#include "common/error.h"
#include "common/text/text.h"
#include "dump/export/timeline/cpu_slice.h"
#include "dump/export/timeline/timeline_state.h"
#include "flow/segment/segment.h"

/* ---- events -------------------------------------------------------------------------------------- */

struct events {
	struct dump_timeline *timeline;
	struct analysis_names names;
	struct ptl_bytes text;
	bool begun;
};

/* Returns the flow number of an activity, equal in all traces. 0: no activity. */
static uint64_t flow_of(const struct ptl_event *event)
{
	uint64_t hash = 14695981039346656037u;

	if (!(event->flags & PTL_EVENT_HAS_ACTIVITY))
		return 0;
	for (size_t i = 0; i < sizeof(event->activity.bytes); i++)
		hash = (hash ^ event->activity.bytes[i]) * 1099511628211u;
	return hash ? hash : 1;
}

static int track_of(struct dump_timeline *timeline, const struct ptl_event *event, uint32_t *track)
{
	const uint32_t process = event->pid == PTL_NO_ID
					 ? FLOW_NONE
					 : flow_timeline_process_at(timeline->calls->timeline, event->pid, event->time);

	return event->tid == PTL_NO_ID
		       ? dump_timeline_process(timeline, process, event->pid, event->cpu, track)
		       : dump_timeline_thread(timeline, process, event->pid, event->tid, event->cpu, track);
}

static int timeline_take_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct events *events = context;
	struct dump_timeline *timeline = events->timeline;
	const struct analysis_filter *filter = timeline->calls->input.filter;
	const uint64_t time = dump_timeline_time(timeline, event->time);
	uint32_t track, name;
	int status;

	if (!analysis_filter_wants_thread(filter, event->pid, event->tid) ||
	    !common_id_set_has(&filter->cpus, event->cpu) || !analysis_filter_wants_time(filter, event->time))
		return 0;
	events->text.size = 0;
	analysis_text_full_name(&events->text, &events->names, &event->descriptor, ptl_schema_of(trace, event));
	status = track_of(timeline, event, &track);
	if (status == 0)
		status = dump_timeline_name(&timeline->output, common_text_string(&events->text), &name);
	if (status < 0)
		return status;
	if (!events->begun)
		timeline->output.format->sequence(&timeline->output, track, time);
	events->begun = true;
	timeline->output.format->instant(&timeline->output, track, time, name, flow_of(event));
	return dump_timeline_flush(&timeline->output, false);
}

int dump_timeline_events(struct dump_timeline *timeline)
{
	struct events events = {.timeline = timeline};
	const struct analysis_filter *filter = timeline->calls->input.filter;
	const struct ptl_event_filter times = {
		.size = sizeof(times),
		.first_time = filter->first_time,
		.last_time = filter->last_time == UINT64_MAX ? 0 : filter->last_time,
	};
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = timeline_take_event};
	int status = analysis_names_load(&events.names, timeline->calls->input.trace);

	if (status == 0)
		status = ptl_process(timeline->calls->input.trace, &times, &callbacks, &events);
	analysis_names_free(&events.names);
	common_bytes_free(&events.text);
	return status;
}

/* ---- CPUs ---------------------------------------------------------------------------------------- */

struct cpu_row {
	struct dump_timeline *timeline;
	uint32_t track;
};

static int write_slice(void *context, uint64_t from, uint64_t to, const char *words)
{
	const struct cpu_row *row = context;
	struct dump_timeline *timeline = row->timeline;
	struct dump_timeline_output *output = &timeline->output;
	uint32_t name;
	const int status = dump_timeline_name(output, words, &name);

	if (status < 0)
		return status;
	output->format->begin(output, row->track, dump_timeline_time(timeline, from), name);
	output->format->end(output, row->track, dump_timeline_time(timeline, to));
	return dump_timeline_flush(output, false);
}

static int write_cpu(struct dump_timeline *timeline, const struct dump_cpu_slices *slices, size_t i)
{
	struct dump_timeline_output *output = &timeline->output;
	const uint32_t cpu = dump_cpu_slices_cpu(slices, i);
	struct cpu_row row = {.timeline = timeline};
	char name[32];
	int status = dump_timeline_track(output, 0, cpu, &row.track);

	if (status < 0)
		return status;
	snprintf(name, sizeof(name), "CPU %" PRIu32, cpu);
	output->format->row(output, row.track, DUMP_TIMELINE_NONE, name);
	output->format->sequence(output, row.track, 0);
	return dump_cpu_slices_visit(slices, i, write_slice, &row);
}

int dump_timeline_switches(struct dump_timeline *timeline)
{
	struct dump_cpu_slices slices;
	int status = dump_cpu_slices_read(&slices, timeline->calls);

	for (size_t i = 0; status == 0 && i < slices.count; i++)
		status = write_cpu(timeline, &slices, i);
	dump_cpu_slices_free(&slices);
	return status;
}

/* ---- Intel PT ------------------------------------------------------------------------------------ */

/* Writes the bytes of a decoded stream over time, from PSB to PSB. */
static int write_stream(struct dump_timeline *timeline, const struct flow_segment *segments, size_t count)
{
	struct dump_timeline_output *output = &timeline->output;
	const struct flow_segment *first = &segments[0];
	uint64_t time = 0;
	uint32_t parent, track, name;
	int status = dump_timeline_process(timeline, first->process, first->pid, first->cpu, &parent);

	if (status == 0 && first->tid != PTL_NO_ID)
		status = dump_timeline_thread(timeline, first->process, first->pid, first->tid, first->cpu, &parent);
	if (status == 0)
		status = dump_timeline_track(output, 0, 0, &track);
	if (status == 0)
		status = dump_timeline_name(output, "PT bytes/ms", &name);
	if (status < 0)
		return status;
	output->format->counter(output, track, parent, "PT bytes/ms");
	output->format->sequence(output, track, 0);
	for (size_t i = 0; status == 0 && i < count; i++) {
		const uint64_t from = dump_timeline_time(timeline, segments[i].time);
		const uint64_t next = dump_timeline_time(timeline, segments[i].end_time);

		if (!segments[i].time || next <= from || from < time)
			continue;
		output->format->count(output, track, from, segments[i].size * 1000000 / (next - from), name);
		time = from;
		status = dump_timeline_flush(output, false);
	}
	return status;
}

int dump_timeline_packets(struct dump_timeline *timeline)
{
	const struct dump_run *run = timeline->output.run;
	const struct flow_view_options options = dump_run_view_options(run);
	struct flow_segment_list list;
	int status = flow_segments_list(run->trace, timeline->calls->timeline, &options.selection, &list);

	if (status < 0)
		return status;
	for (size_t i = 0; status == 0 && i < list.count;) {
		size_t next = i;

		while (next < list.count && list.segments[next].group == list.segments[i].group)
			next++;
		status = write_stream(timeline, &list.segments[i], next - i);
		i = next;
	}
	flow_segments_free(&list);
	return status;
}
