/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes calls over time in a form that scripts read quickly: differences as varints, in base64. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "dump/export/html/html.h"
#include "dump/print/trace_json.h"

#define TRACK_BYTES 100 /* Keys and numbers of a track. The limit assumes six bytes for each byte of text. */

static void pack_track(const struct dump_slice *list, size_t count, uint64_t start_time, const uint32_t *rows,
		       struct ptl_bytes *packed)
{
	uint64_t time = start_time;

	packed->size = 0;
	for (size_t i = 0; i < count; i++) {
		const struct dump_slice *slice = &list[i];
		const uint64_t start = slice->start > time ? slice->start : time;
		const uint64_t numbers[] = {
			start - time,
			slice->duration,
			(uint64_t)(slice->level > 0 ? slice->level : 0),
			rows[(uint32_t)(slice->function + 1)],
			slice->flags,
			slice->instructions,
		};

		for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
			common_write_varint(packed, numbers[k]);
		time = start;
	}
}

/* Returns the number of slices in the track that begins at `first`. */
static size_t track_size(const struct dump_slices *slices, size_t first)
{
	size_t end = first;

	while (end < slices->count && slices->list[end].track == slices->list[first].track)
		end++;
	return end - first;
}

static void put_track(struct dump_run *run, const struct dump_html_trace *trace, const struct dump_slice_track *track,
		      size_t count, const struct ptl_bytes *text)
{
	const struct flow_timeline *timeline = trace->path_run.calls.timeline;
	struct common_json *json = &run->json_out;

	common_json_object(json, NULL);
	dump_json_id(json, "pid", track->pid);
	dump_json_id(json, "tid", track->tid);
	if (track->tid == PTL_NO_ID && track->cpu != PTL_NO_CPU)
		common_json_u64(json, "cpu", track->cpu);
	if (track->process != FLOW_NONE)
		common_json_string(json, "process", flow_timeline_process(timeline, track->process)->name);
	if (track->thread != FLOW_NONE)
		common_json_string(json, "thread", flow_timeline_thread(timeline, track->thread)->name);
	common_json_u64(json, "stack", track->stack);
	common_json_u64(json, "count", count);
	common_json_string_n(json, "data", (const char *)text->data, text->size);
	common_json_object_end(json);
}

/* Returns the bytes to pass to dump_html_fits: base64 needs no escapes, names of tracks do. */
static uint64_t measure_slices(const struct dump_run *run, const struct dump_html_trace *trace, const uint32_t *rows,
			       struct ptl_bytes *packed)
{
	const struct dump_slices *slices = &trace->slices;
	const struct flow_timeline *timeline = trace->path_run.calls.timeline;
	const uint64_t start_time = ptl_trace_machine(run->trace)->start_time;
	uint64_t bytes = 0;

	for (size_t i = 0, count; i < slices->count; i += count) {
		const struct dump_slice_track *track = &slices->tracks[slices->list[i].track];

		count = track_size(slices, i);
		pack_track(&slices->list[i], count, start_time, rows, packed);
		bytes += packed->size * 4 / 3 / 6 + TRACK_BYTES;
		bytes += track->process == FLOW_NONE ? 0
						     : strlen(flow_timeline_process(timeline, track->process)->name);
		bytes += track->thread == FLOW_NONE ? 0 : strlen(flow_timeline_thread(timeline, track->thread)->name);
	}
	return bytes;
}

/* Drops the shortest calls until the rest fits the page. */
static void fit(const struct dump_html *html, const struct dump_run *run, struct dump_html_trace *trace,
		const uint32_t *rows)
{
	struct ptl_bytes packed = {0};

	while (trace->slices.count && !dump_html_fits(&html->room, measure_slices(run, trace, rows, &packed)))
		dump_slices_limit(&trace->slices, trace->slices.count - trace->slices.count / 4 - 1);
	common_bytes_free(&packed);
}

static int put_tracks(struct dump_run *run, const struct dump_html_trace *trace, const uint32_t *rows)
{
	const struct dump_slices *slices = &trace->slices;
	const uint64_t start_time = ptl_trace_machine(run->trace)->start_time;
	struct ptl_bytes packed = {0}, text = {0};
	int status = 0;

	for (size_t i = 0; status == 0 && i < slices->count;) {
		const struct dump_slice *first = &slices->list[i];
		const size_t count = track_size(slices, i);

		pack_track(first, count, start_time, rows, &packed);
		text.size = 0;
		dump_html_base64(&text, packed.data, packed.size);
		if (packed.failed || text.failed)
			status = common_fail_memory("calls", text.size);
		else
			put_track(run, trace, &slices->tracks[first->track], count, &text);
		i += count;
		if (status == 0)
			status = dump_output_check(run);
	}
	common_bytes_free(&packed);
	common_bytes_free(&text);
	return status;
}

/* Writes counters of threads. Counters that do not fit are left out without a note: calls matter more. */
static int put_counters(const struct dump_html *html, struct dump_run *run, const struct dump_html_trace *trace)
{
	struct common_json *json = &run->json_out;
	struct ptl_bytes packed = {0}, text = {0};

	common_json_array(json, "counters");
	for (size_t i = 0; i < trace->counters.count; i++) {
		const struct dump_counter_series *series = &trace->counters.list[i];

		packed.size = text.size = 0;
		for (size_t k = 0; k < series->count; k++) {
			common_write_varint(&packed, series->instructions[k]);
			common_write_varint(&packed, series->bytes[k]);
		}
		dump_html_base64(&text, packed.data, packed.size);
		if (!series->count || !dump_html_fits(&html->room, text.size / 6))
			continue;
		common_json_object(json, NULL);
		dump_json_id(json, "pid", series->pid);
		dump_json_id(json, "tid", series->tid);
		if (series->tid == PTL_NO_ID && series->cpu != PTL_NO_CPU)
			common_json_u64(json, "cpu", series->cpu);
		dump_json_time(run, "start", series->start);
		common_json_u64(json, "span", series->span);
		common_json_u64(json, "count", series->count);
		common_json_string_n(json, "data", (const char *)text.data, text.size);
		common_json_object_end(json);
	}
	common_json_array_end(json);
	if (packed.failed || text.failed)
		return common_fail_memory("counters", packed.size);
	common_bytes_free(&packed);
	common_bytes_free(&text);
	return dump_output_check(run);
}

/* Writes the gaps. Returns how many did not fit. */
static uint64_t put_gaps(const struct dump_html *html, struct dump_run *run, const struct dump_slices *slices)
{
	struct common_json *json = &run->json_out;
	uint64_t cut = 0;

	common_json_array(json, "gaps");
	for (size_t i = 0; i < slices->gap_count; i++) {
		const struct dump_slice_gap *gap = &slices->gaps[i];

		if (!dump_html_fits(&html->room, 0)) {
			cut++;
			continue;
		}
		common_json_object(json, NULL);
		dump_json_time(run, "time", gap->time);
		common_json_u64(json, "duration", gap->duration);
		dump_json_id(json, "pid", gap->pid);
		dump_json_id(json, "tid", gap->tid);
		if (gap->tid == PTL_NO_ID && gap->cpu != PTL_NO_CPU)
			common_json_u64(json, "cpu", gap->cpu);
		common_json_object_end(json);
	}
	common_json_array_end(json);
	return cut;
}

int dump_html_timeline(struct dump_html *html, struct dump_run *run, struct dump_html_trace *trace)
{
	struct common_json *json = &run->json_out;
	struct dump_slices *slices = &trace->slices;
	size_t count;
	uint32_t *rows = dump_html_function_rows(trace, &count);
	uint64_t cut_gaps = slices->cut_gaps;
	int status = rows ? 0 : common_fail_memory("functions", count * sizeof(*rows));

	common_json_object(json, NULL);
	if (status == 0)
		status = dump_html_cpus(html, run, trace);
	if (status == 0)
		status = put_counters(html, run, trace);
	common_json_array(json, "tracks");
	if (status == 0) {
		fit(html, run, trace, rows);
		status = put_tracks(run, trace, rows);
	}
	common_json_array_end(json);
	cut_gaps += put_gaps(html, run, slices);
	common_json_object_end(json);
	dump_left_out_add(&html->left_out, slices->cut, "call of the timeline that was shorter than others",
			  "calls of the timeline that were shorter than others");
	dump_left_out_add(&html->left_out, slices->untimed, "call of the timeline, without a time",
			  "calls of the timeline, without a time");
	dump_left_out_add(&html->left_out, cut_gaps, "gap of the list", "gaps of the list");
	free(rows);
	return status;
}
