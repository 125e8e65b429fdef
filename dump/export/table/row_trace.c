/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables that need no flow: traces, processes, threads, images, losses. */
#include "common/text/guid.h"
#include "common/text/text.h"
#include "dump/export/table/row.h"
#include "dump/run/run.h"
#include "format/metadata/metadata.h"
#include "format/reader/trace_end.h"

#define COLUMNS(list) list, sizeof(list) / sizeof(list[0])

static const struct analysis_filter *filter_of(const struct dump_row_trace *trace)
{
	return &trace->run->options->filter;
}

/* Whether a lifetime overlaps the selected time span. start 0: existed before the trace. end 0: unknown. */
static bool in_span(const struct analysis_filter *filter, uint64_t start, uint64_t end)
{
	return start <= filter->last_time && (!end || end >= filter->first_time);
}

/* ---- traces -------------------------------------------------------------------------------------- */

static const struct ptl_machine *machine_of(const struct dump_row *row)
{
	return ptl_trace_machine(row->trace->run->trace);
}

static void get_architecture(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, machine_of(row)->architecture);
}

static void get_cpus(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, machine_of(row)->cpus);
}

static void get_source(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, machine_of(row)->source);
}

static void get_software(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, machine_of(row)->software);
}

static void get_duration(struct dump_row *row, struct dump_row_value *value)
{
	const uint64_t start = machine_of(row)->start_time, end = format_trace_end(row->trace->run->trace);

	value->is_null = end < start;
	value->number = end - start;
}

static void get_size(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, ptl_trace_size(row->trace->run->trace));
}

static void get_complete(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, ptl_trace_complete(row->trace->run->trace));
}

static const struct ptl_provenance *first_step(const struct dump_row *row)
{
	const struct ptl_trace *trace = row->trace->run->trace;

	return ptl_provenance_count(trace) ? ptl_provenance_at(trace, 0) : NULL;
}

static void get_recorder(struct dump_row *row, struct dump_row_value *value)
{
	const struct ptl_provenance *step = first_step(row);

	dump_row_text(value, step ? step->tool : NULL);
}

static void get_command(struct dump_row *row, struct dump_row_value *value)
{
	const struct ptl_provenance *step = first_step(row);

	dump_row_text(value, step ? step->command : NULL);
}

static int trace_rows(struct dump_row_writer *writer, struct dump_row_trace *trace)
{
	return dump_row_write(writer, trace);
}

static const struct dump_row_column trace_columns[] = {
	{"architecture", DUMP_ROW_TEXT, false, 0, get_architecture},
	{"cpus", DUMP_ROW_UNSIGNED, false, 0, get_cpus},
	{"source", DUMP_ROW_TEXT, false, 0, get_source},
	{"software", DUMP_ROW_BOOLEAN, false, 0, get_software},
	{"duration", DUMP_ROW_UNSIGNED, true, 0, get_duration},
	{"size", DUMP_ROW_UNSIGNED, false, 0, get_size},
	{"complete", DUMP_ROW_BOOLEAN, false, 0, get_complete},
	{"recorder", DUMP_ROW_TEXT, false, 0, get_recorder},
	{"command", DUMP_ROW_TEXT, false, 0, get_command},
};

const struct dump_row_table dump_row_traces = {"traces", COLUMNS(trace_columns), "", false, trace_rows};

/* ---- processes ----------------------------------------------------------------------------------- */

static const struct flow_timeline_process *process_of(const struct dump_row *row)
{
	return row->item;
}

static const struct flow_program *last_program(const struct dump_row *row)
{
	const struct flow_timeline_process *process = process_of(row);

	return process->program_count ? &process->programs[process->program_count - 1] : NULL;
}

static void get_process_pid(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_id(value, process_of(row)->pid);
}

static void get_parent(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_id(value, process_of(row)->parent_pid);
}

static void get_process_name(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, process_of(row)->name);
}

static void get_path(struct dump_row *row, struct dump_row_value *value)
{
	const struct flow_program *program = last_program(row);

	dump_row_text(value, program ? program->path : NULL);
}

static void get_command_line(struct dump_row *row, struct dump_row_value *value)
{
	const struct flow_program *program = last_program(row);

	dump_row_text(value, program ? program->command_line : NULL);
}

static void get_process_build_id(struct dump_row *row, struct dump_row_value *value)
{
	const struct flow_program *program = last_program(row);

	if (program)
		dump_row_build_id_of(row, value, program->path);
	else
		dump_row_null(value);
}

static void get_process_start(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_time(row, value, process_of(row)->start);
}

static void get_process_end(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_time(row, value, process_of(row)->end);
}

static void get_wait_status(struct dump_row *row, struct dump_row_value *value)
{
	value->is_null = !process_of(row)->has_exit_status;
	value->number = (uint64_t)(int64_t)process_of(row)->exit_status;
}

static void get_process_wall(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_wall(row, value, process_of(row)->start);
}

static int process_rows(struct dump_row_writer *writer, struct dump_row_trace *trace)
{
	const size_t count = flow_timeline_process_count(trace->timeline);
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++) {
		const struct flow_timeline_process *process = flow_timeline_process(trace->timeline, i);

		if (common_id_set_has(&filter_of(trace)->pids, process->pid) &&
		    in_span(filter_of(trace), process->start, process->end))
			status = dump_row_write(writer, process);
	}
	return status;
}

static const struct dump_row_column process_columns[] = {
	{"pid", DUMP_ROW_UNSIGNED, true, 0, get_process_pid},
	{"parent_pid", DUMP_ROW_UNSIGNED, true, 0, get_parent},
	{"name", DUMP_ROW_TEXT, false, 0, get_process_name},
	{"path", DUMP_ROW_TEXT, false, 0, get_path},
	{"command_line", DUMP_ROW_TEXT, false, 0, get_command_line},
	{"build_id", DUMP_ROW_TEXT, true, 0, get_process_build_id},
	{"start", DUMP_ROW_SIGNED, true, 0, get_process_start},
	{"end", DUMP_ROW_SIGNED, true, 0, get_process_end},
	{"wait_status", DUMP_ROW_SIGNED, true, 0, get_wait_status},
	{"wall_time", DUMP_ROW_WALL, true, 0, get_process_wall},
};

const struct dump_row_table dump_row_processes = {"processes", COLUMNS(process_columns), "pid", false, process_rows};

/* ---- threads ------------------------------------------------------------------------------------- */

static const struct flow_timeline_thread *thread_of(const struct dump_row *row)
{
	return row->item;
}

static void get_thread_pid(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_id(value, thread_of(row)->pid);
}

static void get_thread_tid(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_id(value, thread_of(row)->tid);
}

static void get_thread_name(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, thread_of(row)->name);
}

static void get_thread_build_id(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_program_build_id(row, value, thread_of(row)->pid, thread_of(row)->start);
}

static void get_thread_start(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_time(row, value, thread_of(row)->start);
}

static void get_thread_end(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_time(row, value, thread_of(row)->end);
}

static void get_thread_wall(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_wall(row, value, thread_of(row)->start);
}

static int thread_rows(struct dump_row_writer *writer, struct dump_row_trace *trace)
{
	const size_t count = flow_timeline_thread_count(trace->timeline);
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++) {
		const struct flow_timeline_thread *thread = flow_timeline_thread(trace->timeline, i);

		if (analysis_filter_wants_thread(filter_of(trace), thread->pid, thread->tid) &&
		    in_span(filter_of(trace), thread->start, thread->end))
			status = dump_row_write(writer, thread);
	}
	return status;
}

static const struct dump_row_column thread_columns[] = {
	{"pid", DUMP_ROW_UNSIGNED, true, 0, get_thread_pid},
	{"tid", DUMP_ROW_UNSIGNED, true, 0, get_thread_tid},
	{"name", DUMP_ROW_TEXT, false, 0, get_thread_name},
	{"build_id", DUMP_ROW_TEXT, true, DUMP_ROW_NOT_DATABASE, get_thread_build_id},
	{"start", DUMP_ROW_SIGNED, true, 0, get_thread_start},
	{"end", DUMP_ROW_SIGNED, true, 0, get_thread_end},
	{"wall_time", DUMP_ROW_WALL, true, 0, get_thread_wall},
};

const struct dump_row_table dump_row_threads = {"threads", COLUMNS(thread_columns), "pid, tid", false, thread_rows};

/* ---- images -------------------------------------------------------------------------------------- */

static const struct flow_timeline_image *image_of(const struct dump_row *row)
{
	return row->item;
}

static void get_image_pid(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_id(value, image_of(row)->data.process_id);
}

static void get_image_path(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, image_of(row)->data.file_name);
}

static void get_image_build_id(struct dump_row *row, struct dump_row_value *value)
{
	const struct ptl_image_event *data = &image_of(row)->data;
	const size_t start = row->scratch.size;

	common_text_hex_bytes(&row->scratch, data->build_id, data->build_id_size);
	dump_row_scratch(row, value, start);
	value->is_null = !data->build_id_size;
}

static void get_base(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, image_of(row)->data.base);
}

static void get_image_size(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, image_of(row)->data.size);
}

static void get_default_base(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, image_of(row)->data.default_base);
}

static void get_file_offset(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, image_of(row)->data.file_offset);
}

static void get_loaded(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_time(row, value, image_of(row)->start);
}

static void get_unloaded(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_time(row, value, image_of(row)->end);
}

static void get_rundown(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, image_of(row)->rundown);
}

static void get_inherited(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, image_of(row)->inherited);
}

static void get_has_code(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, image_of(row)->data.has_code);
}

static void get_image_wall(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_wall(row, value, image_of(row)->start);
}

static int image_rows(struct dump_row_writer *writer, struct dump_row_trace *trace)
{
	const size_t count = flow_timeline_image_count(trace->timeline);
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++) {
		const struct flow_timeline_image *image = flow_timeline_image(trace->timeline, i);

		if (!image->layer && common_id_set_has(&filter_of(trace)->pids, image->data.process_id) &&
		    analysis_filter_wants_image(filter_of(trace), image->data.file_name) &&
		    in_span(filter_of(trace), image->start, image->end))
			status = dump_row_write(writer, image);
	}
	return status;
}

static const struct dump_row_column image_columns[] = {
	{"pid", DUMP_ROW_UNSIGNED, true, 0, get_image_pid},
	{"path", DUMP_ROW_TEXT, false, 0, get_image_path},
	{"build_id", DUMP_ROW_TEXT, true, 0, get_image_build_id},
	{"base", DUMP_ROW_ADDRESS, false, 0, get_base},
	{"size", DUMP_ROW_UNSIGNED, false, 0, get_image_size},
	{"default_base", DUMP_ROW_ADDRESS, false, 0, get_default_base},
	{"file_offset", DUMP_ROW_UNSIGNED, false, 0, get_file_offset},
	{"loaded", DUMP_ROW_SIGNED, true, 0, get_loaded},
	{"unloaded", DUMP_ROW_SIGNED, true, 0, get_unloaded},
	{"rundown", DUMP_ROW_BOOLEAN, false, 0, get_rundown},
	{"inherited", DUMP_ROW_BOOLEAN, false, 0, get_inherited},
	{"has_code", DUMP_ROW_BOOLEAN, false, 0, get_has_code},
	{"wall_time", DUMP_ROW_WALL, true, 0, get_image_wall},
};

const struct dump_row_table dump_row_images = {"images", COLUMNS(image_columns), "build_id", false, image_rows};

/* ---- losses -------------------------------------------------------------------------------------- */

static const struct ptl_loss *loss_of(const struct dump_row *row)
{
	return row->item;
}

static void get_kind(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, format_loss_name(loss_of(row)->kind));
}

static void get_loss_stream(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_id(value, loss_of(row)->stream);
}

static void get_loss_pid(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_id(value, loss_of(row)->pid);
}

static void get_loss_tid(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_id(value, loss_of(row)->tid);
}

static void get_count(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, loss_of(row)->count);
}

static void get_loss_bytes(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, loss_of(row)->bytes);
}

static void get_first_time(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_time(row, value, loss_of(row)->first_time);
}

static void get_last_time(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_time(row, value, loss_of(row)->last_time);
}

static void get_loss_cause(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, loss_of(row)->cause);
}

static void get_loss_build_id(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_program_build_id(row, value, loss_of(row)->pid, loss_of(row)->first_time);
}

static void get_loss_wall(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_wall(row, value, loss_of(row)->first_time);
}

static int loss_rows(struct dump_row_writer *writer, struct dump_row_trace *trace)
{
	const size_t count = ptl_loss_count(trace->run->trace);
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++) {
		const struct ptl_loss *loss = ptl_loss_at(trace->run->trace, i);

		if (analysis_filter_wants_thread(filter_of(trace), loss->pid, loss->tid) &&
		    in_span(filter_of(trace), loss->first_time, loss->last_time))
			status = dump_row_write(writer, loss);
	}
	return status;
}

static const struct dump_row_column loss_columns[] = {
	{"kind", DUMP_ROW_TEXT, false, 0, get_kind},
	{"stream", DUMP_ROW_UNSIGNED, true, 0, get_loss_stream},
	{"pid", DUMP_ROW_UNSIGNED, true, 0, get_loss_pid},
	{"tid", DUMP_ROW_UNSIGNED, true, 0, get_loss_tid},
	{"count", DUMP_ROW_UNSIGNED, false, 0, get_count},
	{"bytes", DUMP_ROW_UNSIGNED, false, 0, get_loss_bytes},
	{"first_time", DUMP_ROW_SIGNED, true, 0, get_first_time},
	{"last_time", DUMP_ROW_SIGNED, true, 0, get_last_time},
	{"cause", DUMP_ROW_TEXT, false, 0, get_loss_cause},
	{"build_id", DUMP_ROW_TEXT, true, DUMP_ROW_NOT_DATABASE, get_loss_build_id},
	{"wall_time", DUMP_ROW_WALL, true, 0, get_loss_wall},
};

const struct dump_row_table dump_row_losses = {"losses", COLUMNS(loss_columns), "kind", false, loss_rows};
