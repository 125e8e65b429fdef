/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the origin of the file, processes and losses. */
#include <string.h>

#include "analysis/call/call_selection.h"
#include "common/text/text.h"
#include "common/version.h"
#include "dump/export/html/html.h"
#include "dump/print/status.h"
#include "dump/print/trace_json.h"

/* ---- the run ------------------------------------------------------------------------------------- */

/* Swaps frame->user and frame->other: the observers of paths and of the report each use `user`. */
static void change_turns(struct analysis_frame *frame)
{
	const uint64_t user = frame->user;

	frame->user = frame->other;
	frame->other = user;
}

typedef int frame_function(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame);

static int observe(struct dump_html_trace *trace, struct analysis_call_thread *thread, struct analysis_frame *frame,
		   frame_function *of_paths, frame_function *of_report)
{
	int status = of_paths(&trace->path_run.paths, thread, frame);

	if (status == 0)
		status = dump_counters_follow(&trace->counters, thread);
	if (status < 0)
		return status;
	change_turns(frame);
	status = of_report(&trace->report, thread, frame);
	change_turns(frame);
	return status;
}

static int html_begin_thread(void *context, struct analysis_call_thread *thread)
{
	struct dump_html_trace *trace = context;
	const int status = dump_counters_begin(&trace->counters, thread);

	dump_slices_begin(&trace->slices);
	return status ? status : analysis_report_observer.begin(&trace->report, thread);
}

static int html_enter(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	return observe(context, thread, frame, analysis_paths_observer.enter, analysis_report_observer.enter);
}

static int rename_call(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	return observe(context, thread, frame, analysis_paths_observer.rename, analysis_report_observer.rename);
}

static int html_leave(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct dump_html_trace *trace = context;
	const int status = observe(trace, thread, frame, analysis_paths_observer.leave, analysis_report_observer.leave);

	return status == 0 ? dump_slices_leave(&trace->slices, thread, frame) : status;
}

static int html_below(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct dump_html_trace *trace = context;
	const int status = observe(trace, thread, frame, analysis_paths_observer.below, analysis_report_observer.below);

	return status == 0 ? dump_slices_below(&trace->slices, thread) : status;
}

static int html_lose(void *context, struct analysis_call_thread *thread)
{
	struct dump_html_trace *trace = context;
	int status = analysis_paths_observer.gap(&trace->path_run.paths, thread);

	if (status == 0)
		status = dump_counters_gap(&trace->counters, thread);
	return status == 0 ? dump_slices_gap(&trace->slices, thread) : status;
}

static int html_end_thread(void *context, struct analysis_call_thread *thread)
{
	struct dump_html_trace *trace = context;

	const int status = dump_counters_end(&trace->counters, thread);

	dump_slices_end(&trace->slices, thread);
	return status ? status : analysis_paths_observer.end(&trace->path_run.paths, thread);
}

/* Ends a program: the thread runs another program. */
static int end_program(void *context, struct analysis_call_thread *thread)
{
	struct dump_html_trace *trace = context;
	const int status = html_end_thread(context, thread);

	return status ? status : analysis_report_observer.exec(&trace->report, thread);
}

int dump_html_trace_run(struct dump_html_trace *trace, const struct dump_html_limits *limits)
{
	const struct dump_path_options paths = {.group = ANALYSIS_PATH_PROGRAM};
	const struct analysis_call_observer observer = {
		.context = trace,
		.begin = html_begin_thread,
		.end = html_end_thread,
		.enter = html_enter,
		.rename = rename_call,
		.leave = html_leave,
		.below = html_below,
		.exec = end_program,
		.gap = html_lose,
	};
	int status = dump_path_run_start(&trace->path_run, &paths);

	trace->report.calls = &trace->path_run.calls;
	trace->slices.limit = limits->slices;
	trace->slices.gap_limit = limits->events;
	if (status == 0)
		status = analysis_calls_observe(&trace->path_run.calls, &observer);
	if (status == 0)
		status = dump_counters_packets(&trace->counters, &trace->path_run.calls);
	analysis_report_sort(&trace->report, 0);
	dump_slices_sort(&trace->slices);
	return status;
}

void dump_html_trace_free(struct dump_html_trace *trace)
{
	analysis_report_free(&trace->report);
	dump_slices_free(&trace->slices);
	dump_counters_free(&trace->counters);
	dump_path_run_close(&trace->path_run);
}

/* ---- summary ------------------------------------------------------------------------------------- */

static void put_wall_time(struct common_json *json, const struct ptl_machine *machine)
{
	struct ptl_bytes text = {0};

	if (machine->wall_start)
		common_text_wall_time(&text, machine->wall_start);
	common_json_string(json, "started", machine->wall_start ? common_text_string(&text) : NULL);
	common_bytes_free(&text);
}

static void put_commands(struct dump_html *html, struct common_json *json, const struct ptl_trace *trace)
{
	const size_t count = ptl_provenance_count(trace);
	uint64_t cut = 0;

	common_json_array(json, "provenance");
	for (size_t i = 0; i < count; i++) {
		const struct ptl_provenance *step = ptl_provenance_at(trace, i);

		if (!dump_html_fits(&html->room, strlen(step->tool) + strlen(step->version) + strlen(step->command))) {
			cut++;
			continue;
		}
		common_json_object(json, NULL);
		common_json_string(json, "tool", step->tool);
		common_json_string(json, "version", step->version);
		common_json_string(json, "command", step->command);
		common_json_object_end(json);
	}
	common_json_array_end(json);
	dump_left_out_add(&html->left_out, cut, "step of how the file was made", "steps of how the file was made");
}

void dump_html_summary(struct dump_html *html, struct dump_run *run, const struct dump_html_trace *trace)
{
	const struct ptl_machine *machine = ptl_trace_machine(run->trace);
	const struct flow_timeline *timeline = trace->path_run.calls.timeline;
	struct common_json *json = &run->json_out;

	common_json_object(json, NULL);
	common_json_string(json, "file", run->path);
	common_json_u64(json, "size", ptl_trace_size(run->trace));
	common_json_bool(json, "complete", ptl_trace_complete(run->trace));
	common_json_bool(json, "redacted", machine->redacted);
	common_json_string(json, "made_by", "ptl-dump " COMMON_VERSION);
	common_json_string(json, "source", machine->source);
	common_json_string(json, "hostname", machine->hostname);
	common_json_string(json, "kernel", machine->kernel);
	common_json_string(json, "cpu_name", machine->cpu_name);
	common_json_u64(json, "cpus", machine->cpus);
	put_wall_time(json, machine);
	common_json_u64(json, "duration",
			machine->end_time > machine->start_time ? machine->end_time - machine->start_time : 0);
	common_json_u64(json, "processes", flow_timeline_process_count(timeline));
	common_json_u64(json, "threads", flow_timeline_thread_count(timeline));
	common_json_u64(json, "instructions", trace->report.sum.self_instructions);
	common_json_u64(json, "time", trace->report.sum.self_time);
	common_json_u64(json, "functions", trace->report.count);
	common_json_u64(json, "calls", trace->slices.calls);
	common_json_u64(json, "gaps", trace->slices.gap_count + trace->slices.cut_gaps);
	common_json_u64(json, "losses", ptl_loss_count(run->trace));
	common_json_u64(json, "damage", ptl_damage_count(run->trace));
	put_commands(html, json, run->trace);
	common_json_object_end(json);
}

/* ---- processes ----------------------------------------------------------------------------------- */

static void put_status(struct common_json *json, const struct flow_timeline_process *process)
{
	struct ptl_bytes text = {0};

	if (process->has_exit_status)
		dump_text_exit_status(&text, process->exit_status);
	common_json_string(json, "status", process->has_exit_status ? common_text_string(&text) : NULL);
	common_json_bool(json, "failed", process->has_exit_status && process->exit_status);
	common_bytes_free(&text);
}

/* Writes the threads of a process. Returns how many did not fit. */
static uint64_t put_threads(const struct dump_html *html, struct dump_run *run, const struct flow_timeline *timeline,
			    const struct flow_timeline_process *process)
{
	struct common_json *json = &run->json_out;
	uint64_t cut = 0;

	common_json_array(json, "threads");
	for (size_t i = 0; i < process->thread_count; i++) {
		const struct flow_timeline_thread *thread = flow_timeline_thread(timeline, process->threads[i]);

		if (!dump_html_fits(&html->room, strlen(thread->name))) {
			cut++;
			continue;
		}
		common_json_object(json, NULL);
		common_json_u64(json, "tid", thread->tid);
		common_json_string(json, "name", thread->name);
		dump_json_time(run, "start", thread->start);
		dump_json_time(run, "end", thread->end == FLOW_TIME_END ? 0 : thread->end);
		common_json_object_end(json);
	}
	common_json_array_end(json);
	return cut;
}

static size_t text_size(const struct flow_timeline_process *process, const struct flow_program *program)
{
	return strlen(process->name) + (program ? strlen(program->command_line) + strlen(program->path) : 0);
}

void dump_html_processes(struct dump_html *html, struct dump_run *run, const struct dump_html_trace *trace)
{
	const struct flow_timeline *timeline = trace->path_run.calls.timeline;
	const struct analysis_filter *filter = &run->options->filter;
	struct common_json *json = &run->json_out;
	uint64_t cut = 0, cut_threads = 0;

	common_json_array(json, NULL);
	for (size_t i = 0; i < flow_timeline_process_count(timeline); i++) {
		const struct flow_timeline_process *process = flow_timeline_process(timeline, i);
		const struct flow_program *program = process->program_count
							     ? &process->programs[process->program_count - 1]
							     : NULL;

		if (!common_id_set_has(&filter->pids, process->pid))
			continue;
		if (!dump_html_fits(&html->room, text_size(process, program))) {
			cut++;
			continue;
		}
		common_json_object(json, NULL);
		common_json_u64(json, "index", i);
		if (process->parent != FLOW_NONE)
			common_json_u64(json, "parent", process->parent);
		common_json_u64(json, "pid", process->pid);
		common_json_string(json, "name", process->name);
		dump_json_time(run, "start", process->start);
		dump_json_time(run, "end", process->end == FLOW_TIME_END ? 0 : process->end);
		put_status(json, process);
		common_json_string(json, "command", program ? program->command_line : NULL);
		common_json_string(json, "path", program ? program->path : NULL);
		cut_threads += put_threads(html, run, timeline, process);
		common_json_object_end(json);
	}
	common_json_array_end(json);
	dump_left_out_add(&html->left_out, cut, "process of the tree", "processes of the tree");
	dump_left_out_add(&html->left_out, cut_threads, "thread of the tree", "threads of the tree");
}

/* ---- losses -------------------------------------------------------------------------------------- */

static bool has_slice_room(void *context, size_t bytes)
{
	return dump_html_fits(context, bytes);
}

void dump_html_losses(struct dump_html *html, struct dump_run *run)
{
	const struct dump_json_room room = {has_slice_room, &html->room};

	common_json_object(&run->json_out, NULL);
	dump_left_out_add(&html->left_out, dump_json_losses(run, &room), "loss of the list", "losses of the list");
	dump_left_out_add(&html->left_out, dump_json_damage(run, &room), "damaged part of the list",
			  "damaged parts of the list");
	common_json_object_end(&run->json_out);
}
