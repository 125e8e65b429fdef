/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes the report of a trace's calls, and finds the images of the functions. */
#include "analysis/difference/diff_times.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/call/call_report.h"
#include "analysis/call/call_selection.h"
#include "common/error.h"
#include "common/vector.h"

/* Maps each path to its first image. Ignored images are left out. */
static int map_images(const struct analysis_diff_run *run, struct common_byte_map *images)
{
	const size_t count = flow_timeline_image_count(run->timeline);
	int status = 0;

	for (size_t i = 0; !status && i < count; i++) {
		const char *path = flow_timeline_image(run->timeline, i)->data.file_name;

		if (run->images[i].key && !common_byte_map_get(images, path, strlen(path)))
			status = common_byte_map_put(images, path, strlen(path), i);
	}
	return status;
}

static int add_row(const struct analysis_diff_run *run, const struct common_byte_map *images,
		   const struct analysis_report_row *row, const struct analysis_function *function,
		   struct analysis_diff_times *times)
{
	const uint64_t *image = common_byte_map_get(images, function->path, strlen(function->path));
	const struct ptl_image_event *data;
	struct flow_symbol symbol;
	uint64_t place;

	if (!image)
		return 0;
	data = &flow_timeline_image(run->timeline, *image)->data;
	place = function->address - data->default_base + data->base;
	if (!flow_symbols_find(run->symbols, (uint32_t)*image, place, &symbol) || symbol.offset)
		return 0;
	if (!common_vector_room(&times->list, times->count, sizeof(*times->list)))
		return common_fail_memory("functions", times->count * sizeof(*times->list));
	times->list[times->count++] = (struct analysis_diff_time){
		.image = (uint32_t)*image,
		.place = place,
		.name = symbol.name,
		.time = row->self_time,
		.instructions = row->self_instructions,
	};
	return 0;
}

/*
 * Whether the trace has timing packets. Without timing packets, only system calls and context switches have times, so
 * most instructions belong to functions with time 0.
 */
static bool is_timed(const struct analysis_report *report)
{
	uint64_t timed = 0;

	for (size_t i = 0; i < report->count; i++)
		timed += report->rows[i].self_time ? report->rows[i].self_instructions : 0;
	return timed > report->sum.self_instructions / 2;
}

static int add_rows(const struct analysis_diff_run *run, const struct analysis_report *report,
		    struct analysis_diff_times *times)
{
	struct common_byte_map images = {0};
	int status = map_images(run, &images);

	for (size_t i = 0; !status && i < report->count; i++)
		status = add_row(run, &images, &report->rows[i],
				 analysis_function(report->calls->functions, report->rows[i].function), times);
	common_byte_map_free(&images);
	times->timed = is_timed(report);
	return status;
}

int analysis_diff_times_run(struct analysis_diff_run *run, struct analysis_diff_times *times)
{
	struct analysis_calls calls = {.input = run->input,
				       .timeline = run->timeline,
				       .symbols = run->symbols,
				       .selection = run->calls.selection};
	struct analysis_report report = {.by = ANALYSIS_REPORT_FUNCTION, .calls = &calls};
	const struct analysis_call_observer observer = analysis_report_observer_of(&report);
	int status = analysis_functions_open(run->timeline, run->symbols, &calls.functions);

	*times = (struct analysis_diff_times){0};
	if (!status)
		status = analysis_calls_observe(&calls, &observer);
	if (!status)
		status = add_rows(run, &report, times);
	analysis_report_free(&report);
	analysis_functions_close(calls.functions);
	return status;
}

void analysis_diff_times_free(struct analysis_diff_times *times)
{
	free(times->list);
	*times = (struct analysis_diff_times){0};
}
