/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints events as CSV. All events have the same columns, so any program can read them as a table. */
#include "dump/print/event_csv.h"

#include <inttypes.h>
#include <string.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/text.h"
#include "dump/print/event_time.h"
#include "dump/print/markup.h"

struct row {
	struct dump_event_printer *printer;
	const struct ptl_event *event;
	const struct ptl_schema *schema;
};

/* Each function below appends the unescaped contents of a column. */

static void add_time(const struct row *row, struct ptl_bytes *text)
{
	const struct ptl_machine *machine = ptl_trace_machine(row->printer->run->trace);
	int64_t wall;

	if (!row->printer->absolute)
		common_text_format(text, "%" PRId64, (int64_t)(row->event->time - machine->start_time));
	else if (dump_wall_time(machine, row->event->time, &wall))
		dump_text_system_time(text, wall);
}

static void add_provider(const struct row *row, struct ptl_bytes *text)
{
	const char *name = row->schema ? row->schema->provider_name : NULL;

	if (!name)
		name = analysis_names_provider(row->printer->values->names, &row->event->descriptor.provider);
	common_text_add(text, name ? name : "");
}

static void add_guid(struct ptl_bytes *text, const struct ptl_guid *guid)
{
	char words[PTL_GUID_TEXT_SIZE];

	common_guid_format(guid, words);
	common_text_add(text, words);
}

static void add_provider_guid(const struct row *row, struct ptl_bytes *text)
{
	add_guid(text, &row->event->descriptor.provider);
}

static void add_event_name(const struct row *row, struct ptl_bytes *text)
{
	analysis_text_event_name(text, row->printer->values->names, &row->event->descriptor, row->schema);
}

static void add_id(const struct row *row, struct ptl_bytes *text)
{
	common_text_decimal(text, row->event->descriptor.id);
}

static void add_version(const struct row *row, struct ptl_bytes *text)
{
	common_text_decimal(text, row->event->descriptor.version);
}

static void add_channel(const struct row *row, struct ptl_bytes *text)
{
	common_text_decimal(text, row->event->descriptor.channel);
}

static void add_level(const struct row *row, struct ptl_bytes *text)
{
	common_text_decimal(text, row->event->descriptor.level);
}

static void add_opcode(const struct row *row, struct ptl_bytes *text)
{
	common_text_decimal(text, row->event->descriptor.opcode);
}

static void add_task(const struct row *row, struct ptl_bytes *text)
{
	common_text_decimal(text, row->event->descriptor.task);
}

static void add_keyword(const struct row *row, struct ptl_bytes *text)
{
	common_text_format(text, "0x%" PRIx64, row->event->descriptor.keyword);
}

static void add_cpu(const struct row *row, struct ptl_bytes *text)
{
	if (row->event->cpu != PTL_NO_CPU)
		common_text_decimal(text, row->event->cpu);
}

static void add_pid(const struct row *row, struct ptl_bytes *text)
{
	if (row->event->pid != PTL_NO_ID)
		common_text_decimal(text, row->event->pid);
}

static void add_tid(const struct row *row, struct ptl_bytes *text)
{
	if (row->event->tid != PTL_NO_ID)
		common_text_decimal(text, row->event->tid);
}

static void add_process(const struct row *row, struct ptl_bytes *text)
{
	const char *name = flow_timeline_name_at(row->printer->timeline, row->event->pid, row->event->time);

	if (name)
		common_text_add(text, name);
}

static void add_activity(const struct row *row, struct ptl_bytes *text)
{
	if (row->event->flags & PTL_EVENT_HAS_ACTIVITY)
		add_guid(text, &row->event->activity);
}

static void add_related(const struct row *row, struct ptl_bytes *text)
{
	if (row->event->flags & PTL_EVENT_HAS_RELATED)
		add_guid(text, &row->event->related);
}

/* printer->fields already has the fields that the message refers to. */
static void add_message(const struct row *row, struct ptl_bytes *text)
{
	struct dump_event_printer *printer = row->printer;

	if (!row->schema || !*row->schema->message)
		return;
	printer->values->raw = true;
	dump_text_message(text, printer->values, row->schema->message, &printer->fields, &printer->places);
	printer->values->raw = false;
}

static void add_fields(const struct row *row, struct ptl_bytes *text)
{
	const struct ptl_bytes *fields = &row->printer->fields;

	/* The fields begin with a blank. */
	if (fields->size > 1)
		common_write_bytes(text, fields->data + 1, fields->size - 1);
}

static const struct column {
	const char *name;
	void (*add)(const struct row *row, struct ptl_bytes *text);
} columns[] = {
	{"time", add_time},
	{"provider", add_provider},
	{"provider_guid", add_provider_guid},
	{"event", add_event_name},
	{"id", add_id},
	{"version", add_version},
	{"channel", add_channel},
	{"level", add_level},
	{"opcode", add_opcode},
	{"task", add_task},
	{"keyword", add_keyword},
	{"cpu", add_cpu},
	{"pid", add_pid},
	{"tid", add_tid},
	{"process", add_process},
	{"activity", add_activity},
	{"related", add_related},
	{"message", add_message},
	{"fields", add_fields},
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void print_head(struct dump_event_printer *printer)
{
	for (size_t i = 0; i < COLUMNS && !printer->has_head && !printer->goes_on; i++)
		fprintf(printer->run->out, "%s%s", columns[i].name, i + 1 < COLUMNS ? "," : "\r\n");
	printer->has_head = true;
}

int dump_event_csv(struct dump_event_printer *printer, const struct ptl_event *event, const struct ptl_schema *schema)
{
	const struct row row = {printer, event, schema};

	print_head(printer);
	printer->line.size = 0;
	printer->fields.size = 0;
	dump_text_payload(&printer->fields, printer->values, schema, event->payload, event->payload_size,
			  &printer->places);
	for (size_t i = 0; i < COLUMNS; i++) {
		printer->scratch.size = 0;
		columns[i].add(&row, &printer->scratch);
		common_text_add(&printer->line, i ? "," : "");
		dump_text_csv(&printer->line, printer->scratch.data, printer->scratch.size);
	}
	common_text_add(&printer->line, "\r\n");
	common_text_write(&printer->line, printer->run->out);
	return dump_event_printer_status(printer);
}
