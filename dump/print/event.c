/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints events as lines. */
#include "dump/print/event.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/event/extended.h"
#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/text.h"
#include "dump/print/event_time.h"

#define NAME_WIDTH_MIN 24
#define NAME_WIDTH_MAX 48
#define PROCESS_WIDTH_MIN 20
#define PROCESS_WIDTH_MAX 36

void dump_event_printer_free(struct dump_event_printer *printer)
{
	common_bytes_free(&printer->line);
	common_bytes_free(&printer->fields);
	common_bytes_free(&printer->scratch);
	dump_places_free(&printer->places);
}

int dump_event_printer_status(const struct dump_event_printer *printer)
{
	return printer->line.failed || printer->fields.failed || printer->scratch.failed ||
			       printer->values->scratch.failed
		       ? common_fail_memory("a line", printer->line.size)
		       : 0;
}

/* ---- text: columns --------------------------------------------------------------------------------- */

/* Returns the length of the longest event name in the trace, within limits. */
static size_t find_name_width(struct dump_event_printer *printer)
{
	const struct ptl_trace *trace = printer->run->trace;
	size_t widest = NAME_WIDTH_MIN;

	for (size_t i = 0; i < ptl_schema_count(trace); i++) {
		const struct ptl_schema *schema = ptl_schema_at(trace, i);
		const struct ptl_descriptor descriptor = {
			.provider = schema->provider, .id = schema->id, .opcode = schema->opcode, .task = schema->task};

		printer->scratch.size = 0;
		analysis_text_full_name(&printer->scratch, printer->values->names, &descriptor, schema);
		if (printer->scratch.size > widest && printer->scratch.size <= NAME_WIDTH_MAX)
			widest = printer->scratch.size;
	}
	return widest;
}

static void add_process_name(struct ptl_bytes *text, const char *name, uint32_t pid)
{
	common_text_safe(text, name);
	common_text_format(text, "%s(%" PRIu32 ")", *name ? " " : "", pid);
}

static size_t find_process_width(struct dump_event_printer *printer)
{
	size_t widest = PROCESS_WIDTH_MIN;

	for (size_t i = 0; i < flow_timeline_process_count(printer->timeline); i++) {
		const struct flow_timeline_process *process = flow_timeline_process(printer->timeline, i);

		for (size_t j = 0; j < process->program_count || !j; j++) {
			const char *name = j < process->program_count ? process->programs[j].name : process->name;
			size_t width;

			printer->scratch.size = 0;
			add_process_name(&printer->scratch, name, process->pid);
			width = common_text_width(printer->scratch.data, printer->scratch.size);
			if (width > widest && width <= PROCESS_WIDTH_MAX)
				widest = width;
		}
	}
	return widest;
}

static void print_head(struct dump_event_printer *printer)
{
	const struct dump_run *run = printer->run;

	if (printer->has_head)
		return;
	printer->has_head = true;
	printer->name_width = find_name_width(printer);
	printer->process_width = find_process_width(printer);
	if (printer->goes_on)
		return;
	fprintf(run->out, "%s%s  %-*s  %-*s %8s%s\n", dump_dim(run),
		printer->absolute ? "time UTC                     " : "       time ms", (int)printer->name_width,
		"event", (int)printer->process_width, "process", "thread", dump_plain(run));
}

/* Appends the process at the event's time: "gcc (4711)". */
static void add_process(const struct dump_event_printer *printer, const struct ptl_event *event, struct ptl_bytes *text)
{
	const size_t start = text->size;
	const char *name = flow_timeline_name_at(printer->timeline, event->pid, event->time);

	if (event->pid == PTL_NO_ID)
		common_text_add(text, "-");
	else
		add_process_name(text, name ? name : "", event->pid);
	common_text_pad(text, start, printer->process_width);
}

static void add_time(const struct dump_event_printer *printer, const struct ptl_event *event, struct ptl_bytes *text)
{
	int64_t wall;

	if (!printer->absolute)
		common_text_time(text, event->time, printer->values->start_time);
	else if (dump_wall_time(ptl_trace_machine(printer->run->trace), event->time, &wall)) {
		common_text_wall_time(text, wall);
		text->size -= strlen(" UTC");
	} else {
		common_text_add(text, "-");
	}
}

static void add_columns(struct dump_event_printer *printer, const struct ptl_event *event,
			const struct ptl_schema *schema)
{
	struct ptl_bytes *text = &printer->line;
	size_t start;

	add_time(printer, event, text);
	common_text_add(text, "  ");
	common_text_add(text, dump_bold(printer->run));
	start = text->size;
	analysis_text_full_name(text, printer->values->names, &event->descriptor, schema);
	common_text_pad(text, start, printer->name_width);
	common_text_add(text, dump_plain(printer->run));
	common_text_add(text, "  ");
	add_process(printer, event, text);
	common_text_add(text, " ");
	if (event->tid == PTL_NO_ID)
		common_text_add(text, "       -");
	else
		common_text_decimal_right(text, event->tid, 8);
	if (event->cpu != PTL_NO_CPU)
		common_text_format(text, " cpu=%" PRIu32, event->cpu);
}

/* ---- text: after the columns ----------------------------------------------------------------------- */

static void add_extras(const struct ptl_event *event, struct ptl_bytes *text)
{
	char guid[PTL_GUID_TEXT_SIZE];

	if (event->flags & PTL_EVENT_HAS_ACTIVITY) {
		common_guid_format(&event->activity, guid);
		common_text_format(text, " activity={%s}", guid);
	}
	if (event->flags & PTL_EVENT_HAS_RELATED) {
		common_guid_format(&event->related, guid);
		common_text_format(text, " related={%s}", guid);
	}
	if (event->flags & PTL_EVENT_INJECTED)
		common_text_add(text, " (injected)");
}

/* Appends " key=name"; without a name, the number. */
static void add_named(struct ptl_bytes *text, const char *key, const char *name, uint64_t number)
{
	common_text_format(text, " %s=", key);
	if (name)
		common_text_quoted(text, name, strlen(name));
	else
		common_text_decimal(text, number);
}

static void add_keywords(struct dump_event_printer *printer, const struct ptl_descriptor *descriptor)
{
	const struct ptl_map *map = ptl_map_find(printer->run->trace, &descriptor->provider, PTL_MAP_KEYWORDS, "");

	if (!descriptor->keyword)
		return;
	printer->scratch.size = 0;
	analysis_text_flags(&printer->scratch, map, descriptor->keyword);
	common_text_add(&printer->line, " keywords=");
	common_text_quoted(&printer->line, printer->scratch.data, printer->scratch.size);
}

/* Appends " field-tags=User:0x1,Count:0x20", for fields with tags, in field order. */
static void add_field_tags(const struct ptl_schema *schema, struct ptl_bytes *text)
{
	const char *before = " field-tags=";

	for (size_t i = 0; i < schema->field_count; i++) {
		const struct ptl_field *field = &schema->fields[i];

		if (!field->tags)
			continue;
		common_text_add(text, before);
		common_text_quoted(text, field->name, strlen(field->name));
		common_text_format(text, ":0x%" PRIx32, field->tags);
		before = ",";
	}
}

static void add_verbose(struct dump_event_printer *printer, const struct ptl_event *event,
			const struct ptl_schema *schema)
{
	const struct ptl_descriptor *descriptor = &event->descriptor;
	const struct analysis_names *names = printer->values->names;
	struct ptl_bytes *text = &printer->line;

	common_text_format(text, "  [id=%u version=%u", descriptor->id, descriptor->version);
	add_named(text, "level", analysis_names_level(names, descriptor), descriptor->level);
	add_keywords(printer, descriptor);
	if (descriptor->channel)
		add_named(text, "channel",
			  analysis_names_of(names, &descriptor->provider, PTL_MAP_CHANNELS, descriptor->channel),
			  descriptor->channel);
	if (descriptor->task)
		add_named(text, "task", analysis_names_task(names, descriptor, schema), descriptor->task);
	if (descriptor->opcode)
		add_named(text, "opcode", analysis_names_opcode(names, descriptor, schema), descriptor->opcode);
	if (schema && schema->tags)
		common_text_format(text, " tags=0x%" PRIx32, schema->tags);
	if (schema)
		add_field_tags(schema, text);
	for (size_t i = 0; i < event->extended_count; i++)
		analysis_text_extended(text, &event->extended[i]);
	common_text_add(text, "]");
}

static void add_message_and_fields(struct dump_event_printer *printer, const struct ptl_event *event,
				   const struct ptl_schema *schema)
{
	const bool has_message = schema && *schema->message;
	struct ptl_bytes *text = &printer->line;

	printer->fields.size = 0;
	dump_text_payload(&printer->fields, printer->values, schema, event->payload, event->payload_size,
			  &printer->places);
	if (has_message) {
		common_text_add(text, "  ");
		dump_text_message(text, printer->values, schema->message, &printer->fields, &printer->places);
	}
	if (printer->fields.size || event->flags)
		common_text_add(text, " ");
	common_text_add(text, has_message ? dump_dim(printer->run) : "");
	if (printer->fields.size)
		common_write_bytes(text, printer->fields.data, printer->fields.size);
	add_extras(event, text);
	if (printer->verbose)
		add_verbose(printer, event, schema);
	common_text_add(text, has_message ? dump_plain(printer->run) : "");
}

int dump_event_text(struct dump_event_printer *printer, const struct ptl_event *event, const struct ptl_schema *schema)
{
	print_head(printer);
	printer->line.size = 0;
	add_columns(printer, event, schema);
	add_message_and_fields(printer, event, schema);
	common_text_add(&printer->line, "\n");
	if (printer->stacks)
		analysis_text_stacks(&printer->line, printer->stacks, event);
	common_text_write(&printer->line, printer->run->out);
	return dump_event_printer_status(printer);
}

int dump_event_brief(struct dump_event_printer *printer, const struct ptl_event *event, const struct ptl_schema *schema,
		     struct ptl_bytes *text)
{
	struct ptl_bytes *line = &printer->line;

	line->size = 0;
	common_text_add(line, dump_bold(printer->run));
	analysis_text_full_name(line, printer->values->names, &event->descriptor, schema);
	common_text_add(line, dump_plain(printer->run));
	add_message_and_fields(printer, event, schema);
	common_text_add(line, "\n");
	common_write_bytes(text, line->data, line->size);
	return dump_event_printer_status(printer);
}

/* ---- JSON ------------------------------------------------------------------------------------------ */

static void json_guid(struct common_json *json, const char *key, const struct ptl_guid *guid)
{
	char text[PTL_GUID_TEXT_SIZE];

	common_guid_format(guid, text);
	common_json_string(json, key, text);
}

/* Adds the member only if the name exists. */
static void json_name(struct common_json *json, const char *key, const char *name)
{
	if (name && *name)
		common_json_string(json, key, name);
}

static void json_keywords(struct dump_event_printer *printer, const struct ptl_descriptor *descriptor)
{
	struct common_json *json = &printer->run->json_out;
	const struct ptl_map *map = ptl_map_find(printer->run->trace, &descriptor->provider, PTL_MAP_KEYWORDS, "");

	common_json_hex(json, "keyword", descriptor->keyword);
	if (!map || !descriptor->keyword)
		return;
	common_json_array(json, "keywords");
	for (size_t i = 0; i < map->count; i++) {
		const struct ptl_map_entry *entry = &map->entries[i];

		if (entry->value && (descriptor->keyword & entry->value) == entry->value)
			common_json_string(json, NULL, entry->name);
	}
	common_json_array_end(json);
}

static void json_field_tags(struct common_json *json, const struct ptl_schema *schema)
{
	bool any = false;

	for (size_t i = 0; i < schema->field_count; i++) {
		const struct ptl_field *field = &schema->fields[i];

		if (!field->tags)
			continue;
		if (!any)
			common_json_array(json, "field_tags");
		any = true;
		common_json_object(json, NULL);
		common_json_string(json, "field", field->name);
		common_json_u64(json, "tags", field->tags);
		common_json_object_end(json);
	}
	if (any)
		common_json_array_end(json);
}

static void json_descriptor(struct dump_event_printer *printer, const struct ptl_descriptor *descriptor,
			    const struct ptl_schema *schema)
{
	struct common_json *json = &printer->run->json_out;
	const struct analysis_names *names = printer->values->names;
	const struct ptl_guid *provider = &descriptor->provider;

	json_guid(json, "provider_guid", provider);
	json_name(json, "provider", schema ? schema->provider_name : analysis_names_provider(names, provider));
	if (schema)
		common_json_string(json, "event", schema->event_name);
	json_name(json, "task_name", analysis_names_task(names, descriptor, schema));
	json_name(json, "opcode_name", analysis_names_opcode(names, descriptor, schema));
	common_json_u64(json, "id", descriptor->id);
	common_json_u64(json, "version", descriptor->version);
	common_json_u64(json, "channel", descriptor->channel);
	json_name(json, "channel_name", analysis_names_of(names, provider, PTL_MAP_CHANNELS, descriptor->channel));
	common_json_u64(json, "level", descriptor->level);
	json_name(json, "level_name", analysis_names_level(names, descriptor));
	common_json_u64(json, "opcode", descriptor->opcode);
	common_json_u64(json, "task", descriptor->task);
	json_keywords(printer, descriptor);
	if (schema && schema->tags)
		common_json_u64(json, "tags", schema->tags);
	if (schema)
		json_field_tags(json, schema);
}

static void json_owner(struct dump_event_printer *printer, const struct ptl_event *event)
{
	struct common_json *json = &printer->run->json_out;
	const char *name = flow_timeline_name_at(printer->timeline, event->pid, event->time);

	if (event->cpu != PTL_NO_CPU)
		common_json_u64(json, "cpu", event->cpu);
	if (event->pid != PTL_NO_ID)
		common_json_u64(json, "pid", event->pid);
	if (event->tid != PTL_NO_ID)
		common_json_u64(json, "tid", event->tid);
	if (name)
		common_json_string(json, "process", name);
}

static void json_extended(struct dump_event_printer *printer, const struct ptl_event *event)
{
	struct common_json *json = &printer->run->json_out;

	if (!event->extended_count)
		return;
	common_json_array(json, "extended");
	for (size_t i = 0; i < event->extended_count; i++)
		analysis_json_extended(json, &printer->scratch, &event->extended[i]);
	common_json_array_end(json);
}

/* Adds the message. The fields are formatted as text first, only for the message. */
static void json_message(struct dump_event_printer *printer, const struct ptl_event *event,
			 const struct ptl_schema *schema)
{
	if (!schema || !*schema->message)
		return;
	printer->fields.size = 0;
	printer->scratch.size = 0;
	dump_text_payload(&printer->fields, printer->values, schema, event->payload, event->payload_size,
			  &printer->places);
	printer->values->raw = true;
	dump_text_message(&printer->scratch, printer->values, schema->message, &printer->fields, &printer->places);
	printer->values->raw = false;
	common_json_string_n(&printer->run->json_out, "message", (const char *)printer->scratch.data,
			     printer->scratch.size);
}

static void json_wall_time(struct dump_event_printer *printer, const struct ptl_event *event)
{
	int64_t wall;

	if (!printer->absolute || !dump_wall_time(ptl_trace_machine(printer->run->trace), event->time, &wall))
		return;
	printer->scratch.size = 0;
	dump_text_system_time(&printer->scratch, wall);
	common_json_string(&printer->run->json_out, "system_time", common_text_string(&printer->scratch));
}

int dump_event_json(struct dump_event_printer *printer, const struct ptl_event *event, const struct ptl_schema *schema)
{
	struct common_json *json = &printer->run->json_out;

	common_json_object(json, NULL);
	if (printer->in_flow)
		common_json_string(json, "type", "event");
	dump_json_time(printer->run, "time", event->time);
	json_wall_time(printer, event);
	json_descriptor(printer, &event->descriptor, schema);
	json_owner(printer, event);
	if (event->flags & PTL_EVENT_HAS_ACTIVITY)
		json_guid(json, "activity", &event->activity);
	if (event->flags & PTL_EVENT_HAS_RELATED)
		json_guid(json, "related", &event->related);
	if (event->flags & PTL_EVENT_INJECTED)
		common_json_bool(json, "injected", true);
	json_extended(printer, event);
	if (printer->stacks)
		analysis_json_stacks(json, &printer->scratch, printer->stacks, event);
	json_message(printer, event, schema);
	dump_json_payload(json, printer->values, schema, event->payload, event->payload_size);
	common_json_object_end(json);
	common_json_line(json);
	return dump_event_printer_status(printer);
}
