/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads events, keeps their lines by thread, and writes these between lines of flow. */
#include "dump/flow/flow_events.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/event/event_names.h"
#include "common/error.h"
#include "common/hash_map.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "dump/print/event.h"
#include "format/event/pause.h"

struct dump_flow_event_list {
	struct dump_flow_lines lines;
	size_t next; /* next item to write */
};

struct dump_flow_events {
	struct dump_run run; /* copy of the caller's run, with JSON output to `json` */
	FILE *json;
	char *json_text;
	size_t json_size;
	const struct dump_flow_print *print;
	const struct dump_flow_format *format;
	struct analysis_names names;
	struct analysis_values values;
	struct dump_event_printer printer;
	struct common_hash_map by_thread;    /* index in `lists` */
	struct dump_flow_event_list **lists; /* owned; a single list if print->merged */
	size_t count;
	bool pauses_only;
};

/* ---- pauses of packets (record/intel_pt/between_log.c) --------------------------------------------- */

static bool is_pause(const struct ptl_schema *schema)
{
	return schema && schema->provider_name && !strcmp(schema->provider_name, FORMAT_PAUSE_PROVIDER) &&
	       (schema->id == FORMAT_PAUSE_RESUMED || schema->id == FORMAT_PAUSE_PAUSED);
}

bool dump_flow_events_tell_pauses(const struct ptl_trace *trace)
{
	for (size_t i = 0; i < ptl_schema_count(trace); i++)
		if (is_pause(ptl_schema_at(trace, i)))
			return true;
	return false;
}

/* ---- reading --------------------------------------------------------------------------------------- */

static uint64_t key_of(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

static int find_list(struct dump_flow_events *events, uint64_t key, struct dump_flow_event_list **list)
{
	const uint64_t *known = common_hash_map_get(&events->by_thread, key);
	int status;

	if (known) {
		*list = events->lists[*known];
		return 0;
	}
	*list = calloc(1, sizeof(**list));
	if (!*list || !common_vector_room(&events->lists, events->count, sizeof(*events->lists))) {
		free(*list);
		return common_fail_memory("events", sizeof(**list));
	}
	status = common_hash_map_put(&events->by_thread, key, events->count);
	if (status < 0) {
		free(*list);
		return status;
	}
	events->lists[events->count++] = *list;
	return 0;
}

static int add_json(struct dump_flow_events *events, const struct ptl_event *event, const struct ptl_schema *schema,
		    struct ptl_bytes *text)
{
	int status;

	rewind(events->json);
	common_json_start(&events->run.json_out, events->json);
	status = dump_event_json(&events->printer, event, schema);
	if (status == 0 && fflush(events->json) != 0)
		status = common_fail_memory("an event", events->json_size);
	if (status == 0)
		common_write_bytes(text, events->json_text, (size_t)ftell(events->json));
	return status;
}

static int add_text(struct dump_flow_events *events, const struct ptl_event *event, const struct ptl_schema *schema,
		    struct ptl_bytes *text)
{
	const struct dump_flow_time time = {event->time, event->time, event->time};
	const struct flow_segment owner = {
		.pid = event->pid,
		.tid = event->tid,
		.cpu = event->cpu,
		.process = event->pid == PTL_NO_ID
				   ? FLOW_NONE
				   : flow_timeline_process_at(events->print->timeline, event->pid, event->time),
	};

	events->format->head(events->print, &owner, &time, text);
	common_text_add(text, "** ");
	return dump_event_brief(&events->printer, event, schema, text);
}

static int flow_take_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct dump_flow_events *events = context;
	const struct analysis_filter *filter = &events->run.options->filter;
	const struct ptl_schema *schema = ptl_schema_of(trace, event);
	struct dump_flow_event_list *list;
	int status;

	if (events->pauses_only && !is_pause(schema))
		return 0;
	if (!analysis_filter_wants_thread(filter, event->pid, event->tid) ||
	    !common_id_set_has(&filter->cpus, event->cpu))
		return 0;
	status = find_list(events, events->print->merged ? 0 : key_of(event->pid, event->tid), &list);
	if (status == 0)
		status = dump_flow_lines_at(&list->lines, event->time);
	if (status == 0)
		status = events->run.options->json ? add_json(events, event, schema, &list->lines.text)
						   : add_text(events, event, schema, &list->lines.text);
	return status == 0 && list->lines.text.failed ? common_fail_memory("events", list->lines.text.size) : status;
}

static int read_events(struct dump_flow_events *events)
{
	const struct analysis_filter *filter = &events->run.options->filter;
	const struct ptl_event_filter times = {
		.size = sizeof(times),
		.first_time = filter->first_time,
		.last_time = filter->last_time == UINT64_MAX ? 0 : filter->last_time,
	};
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = flow_take_event};

	events->json = open_memstream(&events->json_text, &events->json_size);
	if (!events->json)
		return common_fail_memory("events", 0);
	return ptl_process(events->run.trace, &times, &callbacks, events);
}

int dump_flow_events_open(struct dump_run *run, const struct dump_flow_print *print,
			  const struct dump_flow_format *format, bool pauses_only, struct dump_flow_events **result)
{
	struct dump_flow_events *events = calloc(1, sizeof(*events));
	int status;

	if (!events)
		return common_fail_memory("events", sizeof(*events));
	events->run = *run;
	events->print = print;
	events->format = format;
	events->pauses_only = pauses_only;
	events->values = (struct analysis_values){.start_time = print->start_time, .names = &events->names};
	events->printer = (struct dump_event_printer){
		.run = &events->run, .timeline = print->timeline, .values = &events->values, .in_flow = true};
	status = analysis_names_load(&events->names, run->trace);
	if (status == 0)
		status = read_events(events);
	if (status < 0) {
		dump_flow_events_close(events);
		return status;
	}
	*result = events;
	return 0;
}

void dump_flow_events_close(struct dump_flow_events *events)
{
	if (!events)
		return;
	if (events->json)
		fclose(events->json);
	free(events->json_text);
	dump_event_printer_free(&events->printer);
	common_bytes_free(&events->values.scratch);
	analysis_names_free(&events->names);
	for (size_t i = 0; i < events->count; i++) {
		dump_flow_lines_free(&events->lists[i]->lines);
		free(events->lists[i]);
	}
	free(events->lists);
	common_hash_map_free(&events->by_thread);
	free(events);
}

/* ---- writing --------------------------------------------------------------------------------------- */

struct dump_flow_lines *dump_flow_events_lines(struct dump_flow_events *events)
{
	return events->count ? &events->lists[0]->lines : NULL;
}

struct dump_flow_event_list *dump_flow_events_of(struct dump_flow_events *events, uint32_t pid, uint32_t tid)
{
	const uint64_t *known = common_hash_map_get(&events->by_thread, key_of(pid, tid));

	return known ? events->lists[*known] : NULL;
}

static void write_from(const struct dump_flow_lines *lines, size_t start, size_t end, FILE *out)
{
	if (end > start)
		fwrite_unlocked(lines->text.data + start, 1, end - start, out);
}

/* Returns the start of item i's lines; for i == count, the end of the text. */
static size_t start_of(const struct dump_flow_lines *lines, size_t i)
{
	return i < lines->count ? lines->items[i].start : lines->text.size;
}

const uint8_t *dump_flow_events_take(struct dump_flow_event_list *list, uint64_t time, size_t *size)
{
	const size_t first = start_of(&list->lines, list->next);

	while (list->next < list->lines.count && list->lines.items[list->next].time < time)
		list->next++;
	*size = start_of(&list->lines, list->next) - first;
	return list->lines.text.data + first;
}

static void write_before(struct dump_flow_event_list *list, uint64_t time, FILE *out)
{
	size_t size;
	const uint8_t *text = dump_flow_events_take(list, time, &size);

	if (size)
		fwrite_unlocked(text, 1, size, out);
}

void dump_flow_events_write(struct dump_flow_event_list *list, const struct dump_flow_lines *lines, FILE *out)
{
	write_from(lines, 0, start_of(lines, 0), out);
	for (size_t i = 0; i < lines->count; i++) {
		write_before(list, lines->items[i].time, out);
		write_from(lines, lines->items[i].start, start_of(lines, i + 1), out);
	}
}

bool dump_flow_events_left(const struct dump_flow_event_list *list)
{
	return list->next < list->lines.count;
}

void dump_flow_events_flush(struct dump_flow_event_list *list, FILE *out)
{
	write_before(list, UINT64_MAX, out);
}
