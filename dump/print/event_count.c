/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump events --count: an overview of the events in a trace. */
#include "dump/print/event_count.h"

#include <inttypes.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/text.h"
#include "dump/print/table.h"

/* Returns events per second. */
static double rate_of(uint64_t count, uint64_t span)
{
	return (double)count * 1e9 / (double)span;
}

static void json_kind(struct dump_run *run, const struct analysis_names *names, const struct analysis_event_kind *kind,
		      uint64_t span, struct ptl_bytes *scratch)
{
	struct common_json *json = &run->json_out;
	const struct ptl_descriptor *descriptor = &kind->descriptor;
	const char *provider = analysis_names_provider(names, &descriptor->provider);
	char guid[PTL_GUID_TEXT_SIZE];

	common_guid_format(&descriptor->provider, guid);
	scratch->size = 0;
	analysis_text_event_name(scratch, names, descriptor, kind->schema);
	common_json_object(json, NULL);
	if (provider)
		common_json_string(json, "provider", provider);
	common_json_string(json, "provider_guid", guid);
	common_json_string(json, "name", common_text_string(scratch));
	common_json_u64(json, "id", descriptor->id);
	common_json_u64(json, "version", descriptor->version);
	common_json_u64(json, "opcode", descriptor->opcode);
	common_json_u64(json, "count", kind->count);
	common_json_u64(json, "bytes", kind->bytes);
	if (span)
		common_json_double(json, "per_second", rate_of(kind->count, span));
	else
		common_json_null(json, "per_second");
	common_json_object_end(json);
	common_json_line(json);
}

static void rate_cell(struct dump_table *table, uint64_t count, uint64_t span)
{
	if (span)
		dump_cell_format(table, DUMP_STYLE_PLAIN, rate_of(count, span) < 1000 ? "%.4g" : "%.0f",
				 rate_of(count, span));
	else
		dump_cell(table, DUMP_STYLE_PLAIN, "-");
}

static void text_kind(struct dump_table *table, const struct analysis_names *names,
		      const struct analysis_event_kind *kind, uint64_t span)
{
	const struct ptl_descriptor *descriptor = &kind->descriptor;

	common_text_count(&table->text, kind->count);
	dump_cell_text(table, DUMP_STYLE_BOLD);
	rate_cell(table, kind->count, span);
	common_text_count(&table->text, kind->bytes);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
	dump_cell_format(table, DUMP_STYLE_PLAIN, "%" PRIu16, descriptor->id);
	dump_cell_format(table, DUMP_STYLE_PLAIN, "%" PRIu8, descriptor->opcode);
	dump_cell_format(table, DUMP_STYLE_PLAIN, "%" PRIu8, descriptor->version);
	analysis_text_full_name(&table->text, names, descriptor, kind->schema);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
}

static int print_text(struct analysis_event_count *count, struct dump_run *run, const struct analysis_names *names,
		      uint64_t span)
{
	static const struct dump_column columns[] = {
		{"EVENTS", true}, {"PER SECOND", true}, {"BYTES", true},  {"ID", true},
		{"OPCODE", true}, {"VERSION", true},    {"EVENT", false},
	};
	struct dump_table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])};
	uint64_t events = 0, bytes = 0;

	for (size_t i = 0; i < count->used; i++) {
		text_kind(&table, names, &count->list[i], span);
		events += count->list[i].count;
		bytes += count->list[i].bytes;
	}
	common_text_count(&table.text, events);
	dump_cell_text(&table, DUMP_STYLE_BOLD);
	rate_cell(&table, events, span);
	common_text_count(&table.text, bytes);
	dump_cell_text(&table, DUMP_STYLE_PLAIN);
	for (size_t i = 3; i < table.column_count; i++)
		dump_cell(&table, DUMP_STYLE_PLAIN, i + 1 < table.column_count ? "-" : "all");
	return dump_table_print(&table, run);
}

int dump_event_count_print(struct analysis_event_count *count, struct dump_run *run, const struct analysis_names *names,
			   uint64_t span)
{
	struct ptl_bytes scratch = {0};
	int status = 0;

	analysis_event_count_sort(count);
	if (!run->options->json)
		return print_text(count, run, names, span);
	for (size_t i = 0; !status && i < count->used; i++) {
		json_kind(run, names, &count->list[i], span, &scratch);
		status = scratch.failed ? common_fail_memory("names of events", scratch.size) : dump_output_check(run);
	}
	common_bytes_free(&scratch);
	return status;
}
