/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists events of the window, and finds an event. */
#include "dump/gdb/monitor_events.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/event/event_filter.h"
#include "analysis/event/event_names.h"
#include "common/error.h"
#include "common/plural.h"
#include "common/text/text.h"
#include "dump/print/event.h"

#define EVENTS_MAX 1000u /* events in one answer */

/* A thread's first block behind an event, and gdb's number of the block's first instruction. */
struct event_place {
	size_t block;
	uint64_t number;
};

struct event_search {
	struct dump_gdb_process *process;
	struct analysis_names names;
	struct analysis_values values;
	struct dump_event_printer printer;
	struct analysis_event_filter filter;
	uint64_t tid;    /* 0: all threads */
	uint64_t around; /* keeps only the lines nearest to this time; 0: all lines */
	uint64_t last;   /* time of the last event */
	size_t count;
	struct ptl_bytes *text;
	struct event_place *places; /* by thread of the model; NULL: lines have no numbers */
	struct ptl_bytes before;    /* the line of the last event at or before `around` */
	bool ended;
};

/*
 * Appends gdb's number of the first instruction of the thread behind the event, "-" without one. Events come in order of
 * time.
 */
static void add_place(struct event_search *search, const struct ptl_event *event, struct ptl_bytes *text)
{
	const struct dump_gdb_model *model = &search->process->model;
	size_t i = 0;

	while (i < model->thread_count && model->threads[i].tid != event->tid)
		i++;
	if (i < model->thread_count) {
		const struct dump_gdb_thread *thread = &model->threads[i];
		struct event_place *place = &search->places[i];

		for (; place->block < thread->count && thread->blocks[place->block].time <= event->time; place->block++)
			place->number += dump_gdb_block_numbers(&thread->blocks[place->block]);
		if (place->block < thread->count || thread->next) {
			common_text_format(text, "%10" PRIu64 "  ", place->number + 1);
			return;
		}
	}
	common_text_add(text, "         -  ");
}

static void search_line(struct event_search *search, const struct ptl_event *event, const struct ptl_schema *schema,
			struct ptl_bytes *text)
{
	common_text_time(text, event->time, search->values.start_time);
	common_text_format(text, "  %" PRIu32 "  ", event->tid);
	if (search->places)
		add_place(search, event, text);
	if (dump_event_brief(&search->printer, event, schema, text) < 0)
		text->failed = true;
}

static int search_take(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct event_search *search = context;
	const struct ptl_schema *schema = ptl_schema_of(trace, event);

	if (event->pid != search->process->pid || (search->tid && event->tid != search->tid) || search->ended ||
	    !analysis_event_filter_wants(&search->filter, &search->values, event, schema))
		return 0;
	search->count++;
	search->last = event->time;
	if (!search->around) {
		if (search->text && search->count <= EVENTS_MAX)
			search_line(search, event, schema, search->text);
		return 0;
	}
	if (event->time <= search->around) {
		search->before.size = 0;
		search_line(search, event, schema, &search->before);
		return 0;
	}
	common_write_bytes(search->text, search->before.data, search->before.size);
	search_line(search, event, schema, search->text);
	search->ended = true;
	return 0;
}

/* Gives the events between two times to the search; last 0: to the end. name: NULL or a pattern of names. */
static int search_run(struct event_search *search, uint64_t first, uint64_t last, const char *name)
{
	struct ptl_trace *trace = search->process->run->trace;
	const struct ptl_event_filter times = {.size = sizeof(times), .first_time = first, .last_time = last};
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = search_take};
	int status = analysis_names_load(&search->names, trace);

	search->values = (struct analysis_values){.start_time = ptl_trace_machine(trace)->start_time,
						  .names = &search->names};
	search->printer = (struct dump_event_printer){
		.run = search->process->run, .timeline = search->process->timeline, .values = &search->values};
	if (status == 0 && name && *name)
		status = analysis_event_patterns_take(&search->filter.events, name);
	if (status == 0)
		status = ptl_process(trace, &times, &callbacks, search);
	if (status == 0)
		status = dump_event_printer_status(&search->printer);
	dump_event_printer_free(&search->printer);
	analysis_event_filter_free(&search->filter);
	analysis_names_free(&search->names);
	return status;
}

static void add_failure(struct ptl_bytes *text)
{
	common_text_add(text, ptl_error_text());
	common_text_add(text, "\n");
}

/* The times of the blocks of all threads. */
static void window_times(const struct dump_gdb_process *process, uint64_t *first, uint64_t *last)
{
	*first = UINT64_MAX;
	*last = 0;
	for (size_t i = 0; i < process->model.thread_count; i++) {
		const struct dump_gdb_thread *thread = &process->model.threads[i];

		if (!thread->count)
			continue;
		if (thread->blocks[0].time < *first)
			*first = thread->blocks[0].time;
		if (thread->blocks[thread->count - 1].time > *last)
			*last = thread->blocks[thread->count - 1].time;
	}
}

void dump_gdb_monitor_events(struct dump_gdb_process *process, const char *words, struct ptl_bytes *text)
{
	struct event_search search = {.process = process, .text = text};
	uint64_t first, last;

	search.places = calloc(process->model.thread_count + 1, sizeof(*search.places));
	if (!search.places) {
		common_text_add(text, "no memory\n");
		return;
	}
	window_times(process, &first, &last);
	/* The end of a process comes behind its last block. */
	if (!process->window.last_time && !process->window.first)
		last = 0;
	if (search_run(&search, first, last, words) < 0)
		add_failure(text);
	else if (search.count > EVENTS_MAX)
		common_text_format(text, "%zu events, of which the first %u are shown\n", search.count, EVENTS_MAX);
	else
		common_text_format(text, "%zu " COMMON_PLURAL("event", "events") "\n", search.count);
	free(search.places);
}

bool dump_gdb_monitor_find_event(struct dump_gdb_process *process, const char *words, uint64_t *time,
				 struct ptl_bytes *text)
{
	struct event_search search = {.process = process};
	uint64_t first, last;

	window_times(process, &first, &last);
	if (!*words) {
		common_text_add(text, "event needs the name of an event\n");
		return false;
	}
	/* Repeated calls go on to earlier events. */
	if (process->window.last_time)
		last = process->window.last_time - 1;
	else if (!process->window.first)
		last = 0;
	if (search_run(&search, 0, last, words) < 0) {
		add_failure(text);
		return false;
	}
	if (!search.count) {
		common_text_add(text, "no such event before the end of the window\n");
		return false;
	}
	*time = search.last;
	return true;
}

void dump_gdb_monitor_near(struct dump_gdb_process *process, uint64_t tid, uint64_t time, struct ptl_bytes *text)
{
	struct event_search search = {.process = process, .tid = tid, .around = time, .text = text};

	if (!time)
		return;
	if (search_run(&search, 0, 0, NULL) < 0)
		add_failure(text);
	else if (!search.ended)
		common_write_bytes(text, search.before.data, search.before.size);
	common_bytes_free(&search.before);
}
