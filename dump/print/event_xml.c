/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints events as XML: the elements System, EventData and RenderingInfo of
 * http://schemas.microsoft.com/win/2004/08/events/event.
 */
#include "dump/print/event_xml.h"

#include <inttypes.h>
#include <string.h>

#include "common/text/guid.h"
#include "common/text/text.h"
#include "dump/print/event_time.h"
#include "dump/print/markup.h"

#define STRUCTURES 8 /* maximum depth of nested structures */
#define EVENTS "http://schemas.microsoft.com/win/2004/08/events/event"
#define TRACES "http://schemas.microsoft.com/win/2004/08/events/trace"

struct element {
	struct dump_event_printer *printer;
	const struct ptl_event *event;
	const struct ptl_schema *schema;
	struct ptl_bytes *line;
	struct ptl_bytes path;       /* names of open structures below the outermost, each followed by a dot */
	size_t paths[STRUCTURES];    /* size of `path` before each open structure */
	unsigned structures;         /* number of open structures */
	struct ptl_bytes characters; /* contents of an array of characters */
	bool is_characters;
};

static void add_xml(struct ptl_bytes *line, const char *words)
{
	dump_text_xml(line, words, strlen(words));
}

static void add_guid(struct ptl_bytes *line, const struct ptl_guid *guid)
{
	char words[PTL_GUID_TEXT_SIZE];

	common_guid_format(guid, words);
	common_text_format(line, "{%s}", words);
}

/* ---- System -------------------------------------------------------------------------------------- */

static const char *provider_name(const struct element *element)
{
	return element->schema
		       ? element->schema->provider_name
		       : analysis_names_provider(element->printer->values->names, &element->event->descriptor.provider);
}

static void add_provider(struct element *element)
{
	const char *name = provider_name(element);

	common_text_add(element->line, "\t\t<Provider");
	if (name && *name) {
		common_text_add(element->line, " Name=\"");
		add_xml(element->line, name);
		common_text_add(element->line, "\"");
	}
	common_text_add(element->line, " Guid=\"");
	add_guid(element->line, &element->event->descriptor.provider);
	common_text_add(element->line, "\"/>\n");
}

static void add_time(struct element *element)
{
	int64_t wall;

	common_text_add(element->line, "\t\t<TimeCreated SystemTime=\"");
	if (dump_wall_time(ptl_trace_machine(element->printer->run->trace), element->event->time, &wall))
		dump_text_system_time(element->line, wall);
	common_text_add(element->line, "\"/>\n");
}

static void add_correlation(struct element *element)
{
	const struct ptl_event *event = element->event;

	if (!(event->flags & (PTL_EVENT_HAS_ACTIVITY | PTL_EVENT_HAS_RELATED)))
		return;
	common_text_add(element->line, "\t\t<Correlation");
	if (event->flags & PTL_EVENT_HAS_ACTIVITY) {
		common_text_add(element->line, " ActivityID=\"");
		add_guid(element->line, &event->activity);
		common_text_add(element->line, "\"");
	}
	if (event->flags & PTL_EVENT_HAS_RELATED) {
		common_text_add(element->line, " RelatedActivityID=\"");
		add_guid(element->line, &event->related);
		common_text_add(element->line, "\"");
	}
	common_text_add(element->line, "/>\n");
}

/* The schema requires both numbers. PTL_NO_ID prints as Windows' own -1. */
static void add_execution(struct element *element)
{
	const struct ptl_event *event = element->event;

	common_text_format(element->line, "\t\t<Execution ProcessID=\"%" PRIu32 "\" ThreadID=\"%" PRIu32 "\"",
			   event->pid, event->tid);
	if (event->cpu != PTL_NO_CPU)
		common_text_format(element->line, " ProcessorID=\"%" PRIu32 "\"", event->cpu);
	common_text_add(element->line, "/>\n");
}

static void add_system(struct element *element)
{
	const struct ptl_descriptor *descriptor = &element->event->descriptor;
	const char *channel = analysis_names_of(element->printer->values->names, &descriptor->provider,
						PTL_MAP_CHANNELS, descriptor->channel);

	common_text_add(element->line, "\t<System>\n");
	add_provider(element);
	common_text_format(element->line,
			   "\t\t<EventID>%u</EventID>\n\t\t<Version>%u</Version>\n\t\t<Level>%u</Level>\n"
			   "\t\t<Task>%u</Task>\n\t\t<Opcode>%u</Opcode>\n\t\t<Keywords>0x%" PRIx64 "</Keywords>\n",
			   descriptor->id, descriptor->version, descriptor->level, descriptor->task, descriptor->opcode,
			   descriptor->keyword);
	add_time(element);
	add_correlation(element);
	add_execution(element);
	common_text_add(element->line, "\t\t<Channel>");
	add_xml(element->line, channel ? channel : "");
	common_text_add(element->line, "</Channel>\n\t\t<Computer>");
	add_xml(element->line, ptl_trace_machine(element->printer->run->trace)->hostname);
	common_text_add(element->line, "</Computer>\n\t</System>\n");
}

/* ---- EventData ----------------------------------------------------------------------------------- */

/* Writes a value as a number, not as its name: the message has the names. */
static void add_value(struct element *element, const struct ptl_value *value)
{
	struct analysis_values *values = element->printer->values;
	struct ptl_bytes *scratch = &element->printer->scratch;
	int64_t wall = value->i;

	scratch->size = 0;
	switch (value->field->type) {
	case PTL_TYPE_TIME:
		if (dump_wall_time(ptl_trace_machine(element->printer->run->trace), value->u, &wall))
			dump_text_system_time(scratch, wall);
		break;
	case PTL_TYPE_WALL_TIME:
		dump_text_system_time(scratch, wall);
		break;
	case PTL_TYPE_BOOL8:
	case PTL_TYPE_BOOL32:
		if (value->u > 1)
			common_text_decimal(scratch, value->u);
		else
			common_text_add(scratch, value->u ? "true" : "false");
		break;
	default:
		analysis_text_plain_value(scratch, values, value);
	}
	if (value->field->type == PTL_TYPE_GUID && value->field->format != PTL_FORMAT_IP)
		common_text_add(element->line, "{");
	dump_text_xml(element->line, scratch->data, scratch->size);
	if (value->field->type == PTL_TYPE_GUID && value->field->format != PTL_FORMAT_IP)
		common_text_add(element->line, "}");
}

static void begin_data(struct element *element, const struct ptl_field *field)
{
	common_text_add(element->line, element->structures ? "\t\t\t<Data Name=\"" : "\t\t<Data Name=\"");
	if (element->structures)
		dump_text_xml(element->line, element->path.data, element->path.size);
	add_xml(element->line, field->name);
	common_text_add(element->line, "\">");
}

/*
 * Windows' schema allows only one level of ComplexData elements. Names of deeper structures become part of the field
 * names.
 */
static void begin_structure(struct element *element, const struct ptl_value *value)
{
	if (!element->structures) {
		common_text_add(element->line, "\t\t<ComplexData Name=\"");
		add_xml(element->line, value->field->name);
		common_text_add(element->line, "\">\n");
	}
	if (element->structures < STRUCTURES)
		element->paths[element->structures] = element->path.size;
	if (element->structures++) {
		common_text_add(&element->path, value->field->name);
		common_text_add(&element->path, ".");
	}
}

static void end_structure(struct element *element)
{
	if (--element->structures == 0)
		common_text_add(element->line, "\t\t</ComplexData>\n");
	if (element->structures < STRUCTURES)
		element->path.size = element->paths[element->structures];
}

static void add_characters(struct element *element, const struct ptl_value *value)
{
	struct ptl_bytes *scratch = &element->printer->scratch;

	scratch->size = 0;
	analysis_text_array_string(scratch, value->field, element->characters.data, element->characters.size);
	begin_data(element, value->field);
	dump_text_xml(element->line, scratch->data, scratch->size);
	common_text_add(element->line, "</Data>\n");
	element->is_characters = false;
	element->characters.size = 0;
}

static int xml_visit(void *context, enum ptl_step step, const struct ptl_value *value)
{
	struct element *element = context;

	switch (step) {
	case PTL_STEP_VALUE:
		if (element->is_characters) {
			common_write_bytes(&element->characters, value->bytes, value->size);
			break;
		}
		begin_data(element, value->field);
		add_value(element, value);
		common_text_add(element->line, "</Data>\n");
		break;
	case PTL_STEP_ARRAY:
		element->is_characters = analysis_is_text_array(value->field);
		break;
	case PTL_STEP_ARRAY_END:
		if (element->is_characters)
			add_characters(element, value);
		break;
	case PTL_STEP_STRUCT:
		begin_structure(element, value);
		break;
	case PTL_STEP_STRUCT_END:
		end_structure(element);
		break;
	}
	return 0;
}

static void add_binary(struct element *element, const uint8_t *bytes, size_t size)
{
	common_text_add(element->line, "\t<BinaryEventData>");
	common_text_hex_bytes(element->line, bytes, size);
	common_text_add(element->line, "</BinaryEventData>\n");
}

static void add_data(struct element *element)
{
	const struct ptl_event *event = element->event;
	const size_t start = element->line->size;
	size_t rest = 0;

	if (!element->schema) {
		add_binary(element, event->payload, event->payload_size);
		return;
	}
	element->printer->values->schema = element->schema;
	common_text_add(element->line, "\t<EventData>\n");
	if (ptl_payload_walk(element->schema, event->payload, event->payload_size, xml_visit, element, &rest) < 0) {
		/*
		 * A program that expects complete elements cannot use partial EventData, so the payload is written as
		 * binary.
		 */
		element->line->size = start;
		add_binary(element, event->payload, event->payload_size);
		return;
	}
	if (rest) {
		common_text_add(element->line, "\t\t<Data Name=\"\">");
		common_text_hex_bytes(element->line, event->payload + event->payload_size - rest, rest);
		common_text_add(element->line, "</Data>\n");
	}
	common_text_add(element->line, "\t</EventData>\n");
}

/* ---- RenderingInfo ------------------------------------------------------------------------------- */

static void add_rendered(struct element *element, const char *name, const char *words)
{
	if (!words || !*words)
		return;
	common_text_format(element->line, "\t\t<%s>", name);
	add_xml(element->line, words);
	common_text_format(element->line, "</%s>\n", name);
}

static void add_message(struct element *element)
{
	struct dump_event_printer *printer = element->printer;

	if (!element->schema || !*element->schema->message)
		return;
	printer->fields.size = 0;
	printer->scratch.size = 0;
	dump_text_payload(&printer->fields, printer->values, element->schema, element->event->payload,
			  element->event->payload_size, &printer->places);
	printer->values->raw = true;
	dump_text_message(&printer->scratch, printer->values, element->schema->message, &printer->fields,
			  &printer->places);
	printer->values->raw = false;
	common_text_add(element->line, "\t\t<Message>");
	dump_text_xml(element->line, printer->scratch.data, printer->scratch.size);
	common_text_add(element->line, "</Message>\n");
}

static void add_keywords(struct element *element)
{
	const struct ptl_descriptor *descriptor = &element->event->descriptor;
	const struct ptl_map *map = ptl_map_find(element->printer->run->trace, &descriptor->provider, PTL_MAP_KEYWORDS,
						 "");

	if (!map || !descriptor->keyword)
		return;
	common_text_add(element->line, "\t\t<Keywords>\n");
	for (size_t i = 0; i < map->count; i++) {
		const struct ptl_map_entry *entry = &map->entries[i];

		if (!entry->value || (descriptor->keyword & entry->value) != entry->value)
			continue;
		common_text_add(element->line, "\t\t\t<Keyword>");
		add_xml(element->line, entry->name);
		common_text_add(element->line, "</Keyword>\n");
	}
	common_text_add(element->line, "\t\t</Keywords>\n");
}

/* Writes the elements in the order of Windows' schema. */
static void add_rendering(struct element *element)
{
	const struct ptl_descriptor *descriptor = &element->event->descriptor;
	const struct analysis_names *names = element->printer->values->names;

	common_text_add(element->line, "\t<RenderingInfo Culture=\"en-US\">\n");
	add_message(element);
	add_rendered(element, "Level", analysis_names_level(names, descriptor));
	add_rendered(element, "Task", analysis_names_task(names, descriptor, element->schema));
	add_rendered(element, "Opcode", analysis_names_opcode(names, descriptor, element->schema));
	add_rendered(element, "Channel",
		     analysis_names_of(names, &descriptor->provider, PTL_MAP_CHANNELS, descriptor->channel));
	add_rendered(element, "Provider", provider_name(element));
	add_keywords(element);
	if (element->schema && *element->schema->event_name) {
		common_text_add(element->line, "\t\t<EventName xmlns=\"" TRACES "\">");
		add_xml(element->line, element->schema->event_name);
		common_text_add(element->line, "</EventName>\n");
	}
	common_text_add(element->line, "\t</RenderingInfo>\n");
}

/* ---- the document -------------------------------------------------------------------------------- */

static void print_head(struct dump_event_printer *printer)
{
	if (!printer->has_head)
		fputs("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<Events>\n", printer->run->out);
	printer->has_head = true;
}

int dump_event_xml(struct dump_event_printer *printer, const struct ptl_event *event, const struct ptl_schema *schema)
{
	struct element element = {.printer = printer, .event = event, .schema = schema, .line = &printer->line};

	print_head(printer);
	printer->line.size = 0;
	common_text_add(&printer->line, "<Event xmlns=\"" EVENTS "\">\n");
	add_system(&element);
	add_data(&element);
	add_rendering(&element);
	common_text_add(&printer->line, "</Event>\n");
	common_text_write(&printer->line, printer->run->out);
	printer->line.failed |= element.path.failed || element.characters.failed;
	common_bytes_free(&element.path);
	common_bytes_free(&element.characters);
	return dump_event_printer_status(printer);
}

void dump_event_xml_end(struct dump_event_printer *printer)
{
	print_head(printer);
	fputs("</Events>\n", printer->run->out);
}
