/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of events. */
#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/text.h"
#include "dump/export/table/row.h"
#include "dump/run/run.h"

#define CHECK_EVERY 1024

/* The item of a row. */
struct item {
	const struct ptl_event *event;
	const struct ptl_schema *schema;
	uint64_t number;
};

static const struct ptl_event *event_of(const struct dump_row *row)
{
	return ((const struct item *)row->item)->event;
}

static const struct ptl_schema *schema_of(const struct dump_row *row)
{
	return ((const struct item *)row->item)->schema;
}

static void get_number(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, ((const struct item *)row->item)->number);
}

static void get_time(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_time(row, value, event_of(row)->time);
}

static void get_wall(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_wall(row, value, event_of(row)->time);
}

static void get_provider(struct dump_row *row, struct dump_row_value *value)
{
	const char *name = schema_of(row) ? schema_of(row)->provider_name : NULL;

	dump_row_text(value,
		      name ? name
			   : analysis_names_provider(row->trace->values->names, &event_of(row)->descriptor.provider));
}

static void add_guid(struct dump_row *row, struct dump_row_value *value, const struct ptl_guid *guid)
{
	const size_t start = row->scratch.size;
	char words[PTL_GUID_TEXT_SIZE];

	common_guid_format(guid, words);
	common_text_add(&row->scratch, words);
	dump_row_scratch(row, value, start);
}

static void get_provider_guid(struct dump_row *row, struct dump_row_value *value)
{
	add_guid(row, value, &event_of(row)->descriptor.provider);
}

static void get_event(struct dump_row *row, struct dump_row_value *value)
{
	const size_t start = row->scratch.size;

	analysis_text_event_name(&row->scratch, row->trace->values->names, &event_of(row)->descriptor, schema_of(row));
	dump_row_scratch(row, value, start);
}

static void get_id(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, event_of(row)->descriptor.id);
}

static void get_version(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, event_of(row)->descriptor.version);
}

static void get_channel(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, event_of(row)->descriptor.channel);
}

static void get_level(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, event_of(row)->descriptor.level);
}

static void get_opcode(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, event_of(row)->descriptor.opcode);
}

static void get_task(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, event_of(row)->descriptor.task);
}

static void get_keyword(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, event_of(row)->descriptor.keyword);
}

static void get_cpu(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_id(value, event_of(row)->cpu);
}

static void get_pid(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_id(value, event_of(row)->pid);
}

static void get_tid(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_id(value, event_of(row)->tid);
}

static void get_process(struct dump_row *row, struct dump_row_value *value)
{
	const struct ptl_event *event = event_of(row);

	dump_row_text(value, flow_timeline_name_at(row->trace->timeline, event->pid, event->time));
}

static void get_build_id(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_program_build_id(row, value, event_of(row)->pid, event_of(row)->time);
}

static void get_activity(struct dump_row *row, struct dump_row_value *value)
{
	if (event_of(row)->flags & PTL_EVENT_HAS_ACTIVITY)
		add_guid(row, value, &event_of(row)->activity);
	else
		dump_row_null(value);
}

static void get_related(struct dump_row *row, struct dump_row_value *value)
{
	if (event_of(row)->flags & PTL_EVENT_HAS_RELATED)
		add_guid(row, value, &event_of(row)->related);
	else
		dump_row_null(value);
}

/* Sets the value to a JSON object as in `events --json`: "fields", and "raw" and "payload" if present. */
static void get_payload(struct dump_row *row, struct dump_row_value *value)
{
	const struct dump_row_trace *trace = row->trace;
	const struct ptl_event *event = event_of(row);
	struct common_json json;

	rewind(trace->json_file);
	common_json_start(&json, trace->json_file);
	common_json_object(&json, NULL);
	dump_json_payload(&json, trace->values, schema_of(row), event->payload, event->payload_size);
	common_json_object_end(&json);
	row->scratch.failed |= fflush(trace->json_file) != 0;
	value->text = *trace->json_text;
	value->size = *trace->json_size;
}

static const struct dump_row_column columns[] = {
	{"number", DUMP_ROW_UNSIGNED, false, 0, get_number},
	{"time", DUMP_ROW_SIGNED, true, 0, get_time},
	{"wall_time", DUMP_ROW_WALL, true, 0, get_wall},
	{"provider", DUMP_ROW_TEXT, false, 0, get_provider},
	{"provider_guid", DUMP_ROW_TEXT, false, 0, get_provider_guid},
	{"event", DUMP_ROW_TEXT, false, 0, get_event},
	{"id", DUMP_ROW_UNSIGNED, false, 0, get_id},
	{"version", DUMP_ROW_UNSIGNED, false, 0, get_version},
	{"channel", DUMP_ROW_UNSIGNED, false, 0, get_channel},
	{"level", DUMP_ROW_UNSIGNED, false, 0, get_level},
	{"opcode", DUMP_ROW_UNSIGNED, false, 0, get_opcode},
	{"task", DUMP_ROW_UNSIGNED, false, 0, get_task},
	{"keyword", DUMP_ROW_ADDRESS, false, 0, get_keyword},
	{"cpu", DUMP_ROW_UNSIGNED, true, 0, get_cpu},
	{"pid", DUMP_ROW_UNSIGNED, true, 0, get_pid},
	{"tid", DUMP_ROW_UNSIGNED, true, 0, get_tid},
	{"process", DUMP_ROW_TEXT, false, 0, get_process},
	{"build_id", DUMP_ROW_TEXT, true, DUMP_ROW_NOT_DATABASE, get_build_id},
	{"activity", DUMP_ROW_TEXT, true, 0, get_activity},
	{"related", DUMP_ROW_TEXT, true, 0, get_related},
	{"payload", DUMP_ROW_JSON, false, 0, get_payload},
};

static int row_take_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct dump_row_writer *writer = context;
	const struct dump_run *run = writer->row.trace->run;
	const struct analysis_filter *filter = &run->options->filter;
	const struct item item = {event, ptl_schema_of(trace, event), writer->count};
	int status = 0;

	if (!analysis_filter_wants_thread(filter, event->pid, event->tid) ||
	    !common_id_set_has(&filter->cpus, event->cpu))
		return 0;
	if (writer->count % CHECK_EVERY == 0)
		status = dump_output_check(run);
	return status ? status : dump_row_write(writer, &item);
}

static int rows(struct dump_row_writer *writer, struct dump_row_trace *trace)
{
	const struct analysis_filter *filter = &trace->run->options->filter;
	const struct ptl_event_filter times = {
		.size = sizeof(times),
		.first_time = filter->first_time,
		.last_time = filter->last_time == UINT64_MAX ? 0 : filter->last_time,
	};
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = row_take_event};

	return ptl_process(trace->run->trace, &times, &callbacks, writer);
}

const struct dump_row_table dump_row_events = {"events",    columns, sizeof(columns) / sizeof(columns[0]),
					       "pid, time", false,   rows};
