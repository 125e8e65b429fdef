/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump images --unmapped: executed addresses outside all images. */
#include <inttypes.h>
#include <string.h>

#include "analysis/profile/unmapped.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "dump/command/images.h"
#include "dump/print/table.h"
#include "dump/run/run.h"

static const struct dump_column columns[] = {
	{"PID", true},         {"FIRST", true},        {"LAST", true},  {"GAPS", true},
	{"NOT DECODED", true}, {"INSTRUCTIONS", true}, {"CODE", false}, {"PROCESS", false},
};

static const char *image_name_of(const struct flow_timeline *timeline, const struct analysis_unmapped *range)
{
	return flow_timeline_process_name(timeline, range->process, 0);
}

static void text_range(struct dump_table *table, const struct flow_timeline *timeline,
		       const struct analysis_unmapped *range)
{
	if (range->pid != PTL_NO_ID)
		dump_cell_format(table, DUMP_STYLE_BOLD, "%" PRIu32, range->pid);
	else
		dump_cell(table, DUMP_STYLE_BOLD, "-");
	dump_cell_format(table, DUMP_STYLE_PLAIN, "%" PRIx64, range->first);
	dump_cell_format(table, DUMP_STYLE_PLAIN, "%" PRIx64, range->last);
	common_text_count(&table->text, range->gaps);
	dump_cell_text(table, range->gaps ? DUMP_STYLE_RED : DUMP_STYLE_PLAIN);
	common_text_size(&table->text, range->gap_bytes);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
	common_text_count(&table->text, range->instructions);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
	dump_cell(table, DUMP_STYLE_PLAIN, range->has_code ? "in the trace" : "missing");
	dump_cell(table, DUMP_STYLE_PLAIN, image_name_of(timeline, range));
}

static void json_range(struct dump_run *run, const struct flow_timeline *timeline,
		       const struct analysis_unmapped *range)
{
	struct common_json *json = &run->json_out;

	common_json_object(json, NULL);
	if (range->pid != PTL_NO_ID)
		common_json_u64(json, "pid", range->pid);
	else
		common_json_null(json, "pid");
	common_json_string(json, "process", image_name_of(timeline, range));
	common_json_hex(json, "first", range->first);
	common_json_hex(json, "last", range->last);
	common_json_bool(json, "code_stored", range->has_code);
	common_json_u64(json, "instructions", range->instructions);
	common_json_u64(json, "gaps", range->gaps);
	common_json_u64(json, "gap_bytes", range->gap_bytes);
	dump_json_time(run, "first_time", range->first_time);
	dump_json_time(run, "last_time", range->last_time);
	common_json_object_end(json);
	common_json_line(json);
}

/* Prints advice about missing code. */
static void advise(const struct dump_run *run, const struct analysis_unmapped_list *list)
{
	bool missing = false;

	for (size_t i = 0; i < list->count; i++)
		missing |= !list->ranges[i].has_code;
	if (!list->count)
		common_message_note("every executed address lies in an image");
	if (!missing)
		return;
	common_message_note("the code that ran there is not in the trace, so nothing that follows could be "
			    "decoded up to the next PSB");
	if (strcmp(ptl_trace_machine(run->trace)->source, "raw") == 0)
		common_message_hint("ptl-relog --pt FILE --memory memory.raw --memory-map memory.map, where "
				    "the map names those addresses");
	else
		common_message_hint("ptl-dump images %s    shows what was mapped around them", run->path);
}

int dump_images_unmapped(struct dump_run *run, const struct flow_timeline *timeline)
{
	const struct flow_view_options options = dump_run_view_options(run);
	struct dump_table table = {
		.columns = columns,
		.column_count = sizeof(columns) / sizeof(columns[0]),
	};
	struct analysis_unmapped_list list = {0};
	int status = analysis_unmapped_run(run->trace, timeline, &options, false, &list);

	common_progress_end();
	for (size_t i = 0; i < list.count && status == 0; i++) {
		if (run->options->json)
			json_range(run, timeline, &list.ranges[i]);
		else
			text_range(&table, timeline, &list.ranges[i]);
	}
	if (status == 0 && !run->options->json)
		status = dump_table_print(&table, run);
	if (status == 0 && !run->options->json)
		advise(run, &list);
	analysis_unmapped_free(&list);
	return status;
}
