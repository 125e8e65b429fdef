/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds windows of time by events and by calls. */
#include "analysis/window/window.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call/call_selection.h"
#include "analysis/event/event_query.h"
#include "common/error.h"
#include "common/program/message.h"
#include "common/vector.h"
#include "flow/symbol/made_code.h"

/* ---- the list ------------------------------------------------------------------------------------ */

static int compare_begins(const void *a_, const void *b_)
{
	const struct analysis_window *a = a_, *b = b_;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

static int compare_values(const void *a_, const void *b_)
{
	const struct analysis_window *a = a_, *b = b_;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return compare_begins(a, b);
}

static void sort_windows(struct analysis_windows *windows, int (*compare)(const void *a, const void *b))
{
	if (windows->count)
		qsort(windows->list, windows->count, sizeof(*windows->list), compare);
}

static int add_window(struct analysis_windows *windows, const struct analysis_window_options *options, uint64_t first,
		      uint64_t last, bool open)
{
	struct analysis_window *window;

	if (COMMON_VECTOR_RESERVE(windows->list, windows->capacity, windows->count + 1, "windows"))
		return PTL_NO_MEMORY;
	window = &windows->list[windows->count++];
	*window = (struct analysis_window){
		.from = first > options->before ? first - options->before : 0,
		.to = last < UINT64_MAX - options->after ? last + options->after : UINT64_MAX,
		.value = last - first,
		.open = open,
	};
	return 0;
}

/* Sorts the list, and keeps the slowest calls. */
static void choose_windows(struct analysis_windows *windows, uint64_t slowest)
{
	sort_windows(windows, slowest ? compare_values : compare_begins);
	if (slowest && windows->count > slowest)
		windows->count = slowest;
}

int analysis_windows_merge(struct analysis_windows *windows, const struct analysis_windows *others, uint64_t slowest)
{
	if (COMMON_VECTOR_RESERVE(windows->list, windows->capacity, windows->count + others->count, "windows"))
		return PTL_NO_MEMORY;
	for (size_t i = 0; i < others->count; i++)
		windows->list[windows->count++] = others->list[i];
	windows->untimed += others->untimed;
	choose_windows(windows, slowest);
	return 0;
}

void analysis_windows_join(struct analysis_windows *windows)
{
	size_t count = 0;

	sort_windows(windows, compare_begins);
	for (size_t i = 0; i < windows->count; i++) {
		const struct analysis_window *window = &windows->list[i];
		struct analysis_window *last = count ? &windows->list[count - 1] : NULL;

		if (!last || (last->to != UINT64_MAX && window->from > last->to + 1)) {
			windows->list[count++] = *window;
			continue;
		}
		last->open |= window->open;
		if (window->to > last->to)
			last->to = window->to;
	}
	windows->count = count;
}

void analysis_windows_free(struct analysis_windows *windows)
{
	free(windows->list);
	*windows = (struct analysis_windows){0};
}

/* ---- by events ----------------------------------------------------------------------------------- */

/* A walk over the events of a trace. */
struct walk {
	struct analysis_windows *windows;
	const struct analysis_window_options *options;
	struct analysis_names names;
	struct analysis_values values;
	struct analysis_query begin, end; /* end: only for --between */
	bool inside;                      /* an event matched `begin`, and no later event `end` */
	uint64_t first;                   /* time of this event */
};

static void walk_free(struct walk *walk)
{
	analysis_query_free(&walk->begin);
	analysis_query_free(&walk->end);
	common_bytes_free(&walk->values.scratch);
	analysis_names_free(&walk->names);
}

static int parse_events(struct walk *walk, const struct analysis_window_options *options)
{
	int status;

	walk->begin.option = !options->around ? "--between" : options->option ? options->option : "--around";
	walk->end.option = "--and";
	status = analysis_query_add(&walk->begin, options->around ? options->around : options->between);
	if (!status && !options->around)
		status = analysis_query_add(&walk->end, options->until);
	return status;
}

static int take_around(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct walk *walk = context;

	if (!event->time || !analysis_query_matches(&walk->begin, &walk->values, event, ptl_schema_of(trace, event)))
		return 0;
	return add_window(walk->windows, walk->options, event->time, event->time, false);
}

static int take_between(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	const struct ptl_schema *schema = ptl_schema_of(trace, event);
	struct walk *walk = context;
	int status = 0;

	if (!event->time)
		return 0;
	if (walk->inside && analysis_query_matches(&walk->end, &walk->values, event, schema)) {
		status = add_window(walk->windows, walk->options, walk->first, event->time, false);
		walk->inside = false;
	}
	/* The event that ends a window may begin the next window. */
	if (!walk->inside && analysis_query_matches(&walk->begin, &walk->values, event, schema)) {
		walk->inside = true;
		walk->first = event->time;
	}
	return status;
}

static void note_query(const struct analysis_query *query, const struct ptl_trace *trace, bool none)
{
	if (query->failures)
		common_message_warning("%s; events left out for that: %" PRIu64,
				       query->failure ? query->failure : "out of memory", query->failures);
	if (none)
		analysis_query_note_fields(query, trace);
}

static int find_by_events(struct walk *walk, struct ptl_trace *trace)
{
	const bool around = walk->options->around != NULL;
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks),
						.event = around ? take_around : take_between};
	struct flow_timeline *timeline = NULL;
	int status = analysis_names_load(&walk->names, trace);

	walk->values.names = &walk->names;
	walk->values.start_time = ptl_trace_machine(trace)->start_time;
	if (!status)
		status = flow_made_timeline(trace, &timeline);
	walk->begin.timeline = walk->end.timeline = timeline;
	if (!status)
		status = ptl_process(trace, NULL, &callbacks, walk);
	if (!status && walk->inside)
		status = add_window(walk->windows, walk->options, walk->first, UINT64_MAX, true);
	flow_timeline_free(timeline);
	if (status)
		return status;
	note_query(&walk->begin, trace, !walk->windows->count);
	note_query(&walk->end, trace, walk->inside);
	return 0;
}

static int find_events(struct analysis_windows *windows, const struct analysis_window_options *options,
		       struct ptl_trace *trace)
{
	struct walk walk = {.windows = windows, .options = options};
	int status = parse_events(&walk, options);

	if (!status)
		status = find_by_events(&walk, trace);
	walk_free(&walk);
	return status;
}

/* ---- by calls ------------------------------------------------------------------------------------ */

static int add_calls(struct analysis_windows *windows, const struct analysis_window_options *options,
		     const struct analysis_call_set *set)
{
	int status = 0;

	for (size_t i = 0; !status && i < set->count; i++) {
		const struct analysis_set_call *call = &set->calls[i];

		if (!call->start)
			windows->untimed++;
		else
			status = add_window(windows, options, call->start, call->start + call->wall, false);
	}
	return status;
}

static int find_calls(struct analysis_windows *windows, const struct analysis_window_options *options,
		      struct ptl_trace *trace, const char *path)
{
	const struct analysis_filter everything = {.last_time = UINT64_MAX};
	struct analysis_calls calls = {.input = {.trace = trace, .path = path, .filter = &everything}};
	int status = flow_made_timeline(trace, &calls.timeline);

	if (!status)
		status = flow_symbols_open(trace, calls.timeline, true, &calls.symbols);
	if (!status)
		status = analysis_functions_open(calls.timeline, calls.symbols, &calls.functions);
	if (!status)
		status = analysis_call_selection_open(&calls, options->calls);
	if (!status)
		status = add_calls(windows, options, &calls.selection->set);
	analysis_call_selection_close(calls.selection);
	analysis_functions_close(calls.functions);
	flow_symbols_close(calls.symbols);
	flow_timeline_free(calls.timeline);
	return status;
}

/* ---- both ---------------------------------------------------------------------------------------- */

int analysis_windows_check(const struct analysis_window_options *options)
{
	struct walk walk = {0};
	int status;

	if (options->calls)
		return analysis_call_selection_check(options->calls);
	status = parse_events(&walk, options);
	walk_free(&walk);
	return status;
}

int analysis_windows_find(struct analysis_windows *windows, const struct analysis_window_options *options,
			  struct ptl_trace *trace, const char *path, size_t most)
{
	int status;

	if (ptl_trace_machine(trace)->clock == PTL_CLOCK_NONE)
		return common_fail(PTL_MISUSE, "%s has no clock: windows of time do not exist", path);
	status = options->calls ? find_calls(windows, options, trace, path) : find_events(windows, options, trace);
	if (status)
		return status;
	choose_windows(windows, options->slowest);
	if (windows->count > most)
		return common_fail(PTL_MISUSE, "%s: %zu windows; at most %zu are possible", path, windows->count, most);
	return 0;
}
