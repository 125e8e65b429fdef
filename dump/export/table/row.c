/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts items of a trace to values. Shared code of all tables. */
#include "dump/export/table/row.h"
#include "dump/run/calls.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/text.h"
#include "dump/print/event_time.h"
#include "dump/run/run.h"

/* ---- values -------------------------------------------------------------------------------------- */

void dump_row_null(struct dump_row_value *value)
{
	value->is_null = true;
}

void dump_row_number(struct dump_row_value *value, uint64_t number)
{
	value->number = number;
}

void dump_row_text(struct dump_row_value *value, const char *text)
{
	value->text = text ? text : "";
	value->size = strlen(value->text);
}

void dump_row_scratch(struct dump_row *row, struct dump_row_value *value, size_t start)
{
	value->is_scratch = true;
	value->number = start;
	value->size = row->scratch.size - start;
}

void dump_row_id(struct dump_row_value *value, uint32_t id)
{
	value->is_null = id == PTL_NO_ID;
	value->number = id;
}

void dump_row_time(const struct dump_row *row, struct dump_row_value *value, uint64_t time)
{
	value->is_null = !time || time == FLOW_TIME_END;
	value->number = time - ptl_trace_machine(row->trace->run->trace)->start_time;
}

void dump_row_wall(const struct dump_row *row, struct dump_row_value *value, uint64_t time)
{
	const struct ptl_machine *machine = ptl_trace_machine(row->trace->run->trace);
	int64_t wall = 0;

	value->is_null = !time || time == FLOW_TIME_END || !machine->wall_start ||
			 !dump_wall_time(machine, time, &wall);
	value->number = (uint64_t)wall;
}

void dump_row_build_id(struct dump_row *row, struct dump_row_value *value, uint32_t image)
{
	const struct ptl_image_event *data = image == FLOW_NONE
						     ? NULL
						     : &flow_timeline_image(row->trace->timeline, image)->data;
	const size_t start = row->scratch.size;

	if (!data || !data->build_id_size) {
		dump_row_null(value);
		return;
	}
	common_text_hex_bytes(&row->scratch, data->build_id, data->build_id_size);
	dump_row_scratch(row, value, start);
}

void dump_row_build_id_of(struct dump_row *row, struct dump_row_value *value, const char *path)
{
	const uint64_t *image = common_byte_map_get(row->trace->build_ids, path, strlen(path));

	dump_row_build_id(row, value, image ? (uint32_t)*image : FLOW_NONE);
}

void dump_row_program_build_id(struct dump_row *row, struct dump_row_value *value, uint32_t pid, uint64_t time)
{
	const struct flow_timeline *timeline = row->trace->timeline;
	const uint32_t process = pid == PTL_NO_ID ? FLOW_NONE : flow_timeline_process_at(timeline, pid, time);
	const struct flow_program *program = process == FLOW_NONE ? NULL
								  : flow_timeline_program_at(timeline, process, time);

	if (program)
		dump_row_build_id_of(row, value, program->path);
	else
		dump_row_null(value);
}

/* ---- identity ------------------------------------------------------------------------------------ */

static const struct ptl_machine *machine_of(const struct dump_row *row)
{
	return ptl_trace_machine(row->trace->run->trace);
}

static void get_trace(struct dump_row *row, struct dump_row_value *value)
{
	const size_t start = row->scratch.size;
	char words[PTL_GUID_TEXT_SIZE];
	struct ptl_guid id;
	int64_t wall;

	ptl_trace_id(row->trace->run->trace, &id, &wall);
	common_guid_format(&id, words);
	common_text_add(&row->scratch, words);
	dump_row_scratch(row, value, start);
}

static void get_file(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, row->trace->run->path);
}

static void get_host(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, machine_of(row)->hostname);
}

static void get_kernel(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, machine_of(row)->kernel);
}

static void get_cpu_name(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, machine_of(row)->cpu_name);
}

static void get_started(struct dump_row *row, struct dump_row_value *value)
{
	value->is_null = !machine_of(row)->wall_start;
	value->number = (uint64_t)machine_of(row)->wall_start;
}

static void get_labels(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, row->trace->labels);
}

/* dump_row_write sets the value. */
static void get_row_number(struct dump_row *row, struct dump_row_value *value)
{
	(void)row;
	dump_row_number(value, 0);
}

const struct dump_row_column dump_row_identity[DUMP_ROW_IDENTITY] = {
	{"trace", DUMP_ROW_TEXT, false, 0, get_trace},
	{"file", DUMP_ROW_TEXT, false, 0, get_file},
	{"host", DUMP_ROW_TEXT, false, 0, get_host},
	{"kernel", DUMP_ROW_TEXT, false, 0, get_kernel},
	{"cpu_name", DUMP_ROW_TEXT, false, 0, get_cpu_name},
	{"started", DUMP_ROW_WALL, true, 0, get_started},
	{"labels", DUMP_ROW_JSON, false, 0, get_labels},
	{"row_number", DUMP_ROW_UNSIGNED, false, DUMP_ROW_NOT_DATABASE, get_row_number},
};

/* ---- writing ------------------------------------------------------------------------------------- */

static void point_to_scratch(struct dump_row_value *values, size_t count, const struct ptl_bytes *scratch)
{
	for (size_t i = 0; i < count; i++)
		if (values[i].is_scratch)
			values[i].text = values[i].size ? (const char *)scratch->data + values[i].number : "";
}

int dump_row_write(struct dump_row_writer *writer, const void *item)
{
	const struct dump_row_table *table = writer->table;
	struct dump_row_value values[DUMP_ROW_COLUMNS_MAX], *own = values + DUMP_ROW_IDENTITY;
	struct dump_row *row = &writer->row;

	memcpy(values, writer->identity, sizeof(writer->identity));
	dump_row_number(&own[-1], writer->count);
	memset(own, 0, table->column_count * sizeof(*own));
	row->item = item;
	row->scratch.size = 0;
	for (size_t i = 0; i < table->column_count; i++)
		table->columns[i].get(row, &own[i]);
	if (row->scratch.failed)
		return common_fail_memory("a row", row->scratch.size);
	point_to_scratch(own, table->column_count, &row->scratch);
	writer->count++;
	return writer->sink->row(writer->sink, table, values);
}

/* Computes the identity of the trace once for all rows. */
static int identify(struct dump_row_writer *writer)
{
	for (size_t i = 0; i < DUMP_ROW_IDENTITY; i++)
		dump_row_identity[i].get(&writer->row, &writer->identity[i]);
	writer->identity_text = writer->row.scratch;
	writer->row.scratch = (struct ptl_bytes){0};
	point_to_scratch(writer->identity, DUMP_ROW_IDENTITY, &writer->identity_text);
	return writer->identity_text.failed ? common_fail_memory("a row", 0) : 0;
}

static int name_images(const struct flow_timeline *timeline, struct common_byte_map *build_ids)
{
	int status = 0;

	for (size_t i = flow_timeline_image_count(timeline); status == 0 && i-- > 0;) {
		const char *path = flow_timeline_image(timeline, i)->data.file_name;

		status = common_byte_map_put(build_ids, path, strlen(path), i);
	}
	return status;
}

static int write_tables(struct dump_row_trace *trace, const struct dump_row_table *const *tables, size_t count,
			struct dump_row_sink *sink)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++) {
		struct dump_row_writer writer = {
			.sink = sink, .table = tables[i], .trace = trace, .row = {.trace = trace}};

		status = identify(&writer);
		if (status == 0)
			status = tables[i]->rows(&writer, trace);
		common_bytes_free(&writer.row.scratch);
		common_bytes_free(&writer.identity_text);
	}
	return status;
}

int dump_row_run(struct dump_run *run, const struct dump_row_table *const *tables, size_t count, const char *labels,
		 struct dump_row_sink *sink)
{
	struct analysis_names names = {0};
	struct analysis_values values = {.start_time = ptl_trace_machine(run->trace)->start_time, .names = &names};
	struct common_byte_map build_ids = {0};
	struct analysis_calls calls;
	char *json_text = NULL;
	size_t json_size = 0;
	struct dump_row_trace trace = {
		.run = run,
		.calls = &calls,
		.values = &values,
		.build_ids = &build_ids,
		.json_file = open_memstream(&json_text, &json_size),
		.json_text = &json_text,
		.json_size = &json_size,
		.labels = labels,
	};
	int status = dump_calls_open(&calls, run);

	trace.timeline = calls.timeline;
	if (status == 0 && !trace.json_file)
		status = common_fail_memory("rows", 0);
	if (status == 0)
		status = name_images(calls.timeline, &build_ids);
	if (status == 0)
		status = analysis_names_load(&names, run->trace);
	if (status == 0)
		status = write_tables(&trace, tables, count, sink);
	common_hash_map_free(&trace.symbols.numbers);
	free(trace.symbols.functions);
	if (trace.json_file)
		fclose(trace.json_file);
	free(json_text);
	common_bytes_free(&values.scratch);
	analysis_names_free(&names);
	common_byte_map_free(&build_ids);
	dump_calls_close(&calls, run);
	return status;
}
