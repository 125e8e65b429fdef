/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the first events of the trace to the page, in order of time. */
#include "common/error.h"
#include "common/hash_map.h"
#include "common/text/text.h"
#include "dump/export/html/html.h"
#include "dump/print/event.h"
#include "dump/print/trace_json.h"

#define CHECK_EVERY 4096

struct events {
	struct dump_html *html;
	struct dump_run *run;
	struct dump_event_printer printer;
	struct common_byte_map names; /* numbers of names, in order of output */
	uint32_t name_count;
	struct common_byte_map activities; /* numbers of activities, in order of output */
	uint32_t activity_count;
	uint64_t limit, seen, cut;
	struct ptl_bytes name, text;
};

static int put_name(struct events *events)
{
	struct common_json *json = &events->run->json_out;
	const uint64_t *known = common_byte_map_get(&events->names, events->name.data, events->name.size);

	if (known) {
		common_json_u64(json, NULL, *known);
		return 0;
	}
	common_json_string(json, NULL, common_text_string(&events->name));
	return common_byte_map_put(&events->names, events->name.data, events->name.size, events->name_count++);
}

static int put_activity(struct events *events, const struct ptl_event *event)
{
	const struct ptl_guid *activity = &event->activity;
	const uint64_t *known;

	if (!(event->flags & PTL_EVENT_HAS_ACTIVITY))
		return 0;
	known = common_byte_map_get(&events->activities, activity->bytes, sizeof(activity->bytes));
	common_json_u64(&events->run->json_out, NULL, known ? *known : events->activity_count);
	return known ? 0
		     : common_byte_map_put(&events->activities, activity->bytes, sizeof(activity->bytes),
					   events->activity_count++);
}

/* Writes [time, name, process, thread, text, number of the activity if present]. */
static int put_event(struct events *events, const struct ptl_event *event, const struct ptl_schema *schema)
{
	struct common_json *json = &events->run->json_out;
	size_t skip;
	int status;

	events->name.size = events->text.size = 0;
	analysis_text_full_name(&events->name, events->printer.values->names, &event->descriptor, schema);
	status = dump_event_brief(&events->printer, event, schema, &events->text);
	if (status < 0)
		return status;
	if (!dump_html_fits(&events->html->room, events->name.size + events->text.size)) {
		events->cut++;
		return 0;
	}
	/* The text begins with the name and ends with a newline; both are removed. */
	skip = events->name.size < events->text.size ? events->name.size : 0;
	while (skip < events->text.size && events->text.data[skip] == ' ')
		skip++;
	common_json_array(json, NULL);
	dump_json_time(events->run, NULL, event->time);
	status = put_name(events);
	dump_json_id_or_null(json, NULL, event->pid);
	dump_json_id_or_null(json, NULL, event->tid);
	common_json_string_n(json, NULL, (const char *)events->text.data + skip, events->text.size - skip - 1);
	if (status == 0)
		status = put_activity(events, event);
	common_json_array_end(json);
	return status;
}

static int take_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct events *events = context;
	const struct analysis_filter *filter = &events->run->options->filter;

	if (!analysis_filter_wants_thread(filter, event->pid, event->tid) ||
	    !common_id_set_has(&filter->cpus, event->cpu))
		return 0;
	if (++events->seen > events->limit)
		return 0;
	if (events->seen % CHECK_EVERY == 0) {
		const int status = dump_output_check(events->run);

		if (status < 0)
			return status;
	}
	return put_event(events, event, ptl_schema_of(trace, event));
}

int dump_html_events(struct dump_html *html, struct dump_run *run, const struct flow_timeline *timeline)
{
	const uint64_t limit = html->limits->events;
	const struct analysis_filter *filter = &run->options->filter;
	const struct ptl_event_filter times = {
		.size = sizeof(times),
		.first_time = filter->first_time,
		.last_time = filter->last_time == UINT64_MAX ? 0 : filter->last_time,
	};
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = take_event};
	struct analysis_names names = {0};
	struct analysis_values values = {.start_time = ptl_trace_machine(run->trace)->start_time, .names = &names};
	struct events events = {
		.html = html,
		.run = run,
		.printer = {.run = run, .values = &values, .timeline = timeline},
		.limit = limit,
	};
	int status = analysis_names_load(&names, run->trace);

	common_json_array(&run->json_out, NULL);
	if (status == 0)
		status = ptl_process(run->trace, &times, &callbacks, &events);
	common_json_array_end(&run->json_out);
	dump_left_out_add(&html->left_out, events.cut + (events.seen > limit ? events.seen - limit : 0),
			  "event after the first ones", "events after the first ones");
	dump_event_printer_free(&events.printer);
	common_bytes_free(&values.scratch);
	common_bytes_free(&events.name);
	common_bytes_free(&events.text);
	common_byte_map_free(&events.names);
	common_byte_map_free(&events.activities);
	analysis_names_free(&names);
	return status;
}
