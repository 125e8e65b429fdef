/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump report: times and instructions of functions, images, lines, processes or threads. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call/call_report.h"
#include "analysis/call/call_selection.h"
#include "analysis/function/source_note.h"
#include "analysis/sample/sample.h"
#include "common/program/message.h"
#include "common/error.h"
#include "common/program/options_help.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/print/table.h"
#include "dump/run/calls.h"
#include "query/name_form.h"

struct report_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	enum analysis_report_by by;
	unsigned sort;
	uint64_t limit;
	struct analysis_sample_options samples;
};

static const char *const by_names[] = {
	[ANALYSIS_REPORT_FUNCTION] = "function",
	[ANALYSIS_REPORT_IMAGE] = "image",
	[ANALYSIS_REPORT_LINE] = "line",
	[ANALYSIS_REPORT_INLINE] = "inline",
	[ANALYSIS_REPORT_PROCESS] = "process",
	[ANALYSIS_REPORT_THREAD] = "thread",
	NULL,
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	{"by", 'b', "WHAT", "What a row is of (default: function); inline: functions of the source, inlined or not.",
	 COMMON_CHOICE(struct report_options, by, by_names)},
	{"sort", 0, "ORDER", "Largest first of this; self and total are of instructions (default: self).",
	 COMMON_CHOICE(struct report_options, sort, analysis_report_orders)},
	ANALYSIS_SAMPLE_OPTIONS(struct report_options, samples),
	{"limit", 'n', "N", "The first N rows.", COMMON_NUMBER(struct report_options, limit, 1, UINT64_MAX)},
	{NULL},
};

struct report_run {
	struct dump_run *run;
	const struct report_options *options;
	const struct analysis_calls *calls;
	const struct analysis_report *report;
	const struct analysis_report_row *sum;
	bool has_calls;  /* false for lines and inlined functions */
	bool has_totals; /* false for lines, which have only self instructions */
	bool timed;
	struct analysis_samples samples; /* if requested */
};

static const char *process_name(const struct report_run *report_run, const struct analysis_report_row *row)
{
	return flow_timeline_process_name(report_run->calls->timeline, row->process, 0);
}

/* Returns the last name of the row's thread; "" if unknown or equal to the program's name. */
static const char *thread_name(const struct report_run *report_run, const struct analysis_report_row *row)
{
	const struct flow_timeline *timeline = report_run->calls->timeline;
	const struct flow_timeline_thread *thread;
	uint32_t index;

	if (row->process == FLOW_NONE || row->tid == PTL_NO_ID)
		return "";
	index = flow_timeline_thread_at(timeline, row->pid, row->tid,
					flow_timeline_process(timeline, row->process)->end);
	if (index == FLOW_NONE)
		return "";
	thread = flow_timeline_thread(timeline, index);
	return thread->process == row->process && strcmp(thread->name, process_name(report_run, row)) != 0
		       ? thread->name
		       : "";
}

static bool is_wanted_row(const struct report_run *report_run, const struct analysis_report_row *row)
{
	return !row->image || analysis_filter_wants_image(&report_run->run->options->filter, row->image);
}

/* ---- text ---------------------------------------------------------------------------------------- */

static size_t add_columns(struct dump_column columns[DUMP_COLUMNS_MAX], size_t count, const struct dump_column *more,
			  size_t more_count)
{
	for (size_t i = 0; i < more_count; i++)
		columns[count++] = more[i];
	return count;
}

/* Adds the value columns for samples. */
static size_t choose_amounts(const struct report_run *report_run, struct dump_column columns[DUMP_COLUMNS_MAX])
{
	static const struct dump_column samples[] = {
		{"TOTAL SAMPLES", true}, {"%", true}, {"SELF SAMPLES", true}, {"%", true}};
	static const struct dump_column times[] = {{"TOTAL TIME", true}, {"%", true}, {"SELF TIME", true}, {"%", true}};
	static const struct dump_column periods[] = {
		{"TOTAL COUNT", true}, {"%", true}, {"SELF COUNT", true}, {"%", true}};
	const size_t count = add_columns(columns, 0, samples, sizeof(samples) / sizeof(samples[0]));

	if (!report_run->timed)
		return count;
	return add_columns(columns, count, report_run->samples.in_time ? times : periods,
			   sizeof(times) / sizeof(times[0]));
}

static size_t choose_columns(const struct report_run *report_run, struct dump_column columns[DUMP_COLUMNS_MAX])
{
	static const struct dump_column calls = {"CALLS", true};
	static const struct dump_column total[] = {{"TOTAL INSNS", true}, {"%", true}};
	static const struct dump_column self[] = {{"SELF INSNS", true}, {"%", true}};
	static const struct dump_column inlined[] = {{"INLINED", true}, {"%", true}};
	static const struct dump_column times[] = {{"TOTAL TIME", true}, {"%", true}, {"SELF TIME", true}, {"%", true}};
	static const struct {
		const char *first, *second;
	} names[] = {
		[ANALYSIS_REPORT_FUNCTION] = {"FUNCTION", "IMAGE"},
		[ANALYSIS_REPORT_IMAGE] = {"IMAGE", NULL},
		[ANALYSIS_REPORT_LINE] = {"LINE", NULL},
		[ANALYSIS_REPORT_INLINE] = {"FUNCTION", "DECLARED"},
		[ANALYSIS_REPORT_PROCESS] = {"PID", "NAME"},
		[ANALYSIS_REPORT_THREAD] = {"TID", "NAME"},
	};
	const bool of_flow = !report_run->options->samples.enabled;
	size_t count = of_flow ? 0 : choose_amounts(report_run, columns);

	if (report_run->has_calls)
		columns[count++] = calls;
	if (report_run->has_totals && of_flow)
		count = add_columns(columns, count, total, sizeof(total) / sizeof(total[0]));
	if (of_flow)
		count = add_columns(columns, count, self, sizeof(self) / sizeof(self[0]));
	if (report_run->options->by == ANALYSIS_REPORT_INLINE)
		count = add_columns(columns, count, inlined, sizeof(inlined) / sizeof(inlined[0]));
	if (report_run->timed && of_flow)
		count = add_columns(columns, count, times, sizeof(times) / sizeof(times[0]));
	columns[count++] = (struct dump_column){names[report_run->options->by].first, false};
	if (names[report_run->options->by].second)
		columns[count++] = (struct dump_column){names[report_run->options->by].second, false};
	return count;
}

static void number_cells(struct dump_table *table, uint64_t value, uint64_t of)
{
	common_text_count(&table->text, value);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
	common_text_share(&table->text, value, of);
	dump_cell_text(table, DUMP_STYLE_DIM);
}

/* Adds cells with nanoseconds or units of a counter. */
static void time_cells(struct dump_table *table, const struct report_run *report_run, uint64_t value, uint64_t of)
{
	if (report_run->options->samples.enabled && !report_run->samples.in_time)
		common_text_count(&table->text, value);
	else
		common_text_duration(&table->text, value);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
	common_text_share(&table->text, value, of);
	dump_cell_text(table, DUMP_STYLE_DIM);
}

static void id_cell(struct dump_table *table, uint32_t id, uint32_t cpu)
{
	if (id != PTL_NO_ID)
		dump_cell_format(table, DUMP_STYLE_BOLD, "%" PRIu32, id);
	else if (cpu != PTL_NO_CPU)
		dump_cell_format(table, DUMP_STYLE_BOLD, "cpu %" PRIu32, cpu);
	else
		dump_cell(table, DUMP_STYLE_BOLD, "-");
}

static void place_cell(struct dump_table *table, const struct analysis_report_row *row, const char *file,
		       enum dump_style style)
{
	common_text_safe(&table->text, file);
	if (row->line)
		common_text_format(&table->text, ":%" PRIu32, row->line);
	dump_cell_text(table, style);
}

/* Appends the name of a function of the source. */
static void inlined_name(const struct report_run *report_run, const char *name, struct ptl_bytes *text)
{
	struct ptl_bytes short_name = {0};

	if (report_run->run->shortens_names && !report_run->run->options->no_demangle) {
		query_short_name(name, &short_name);
		name = common_text_string(&short_name);
	}
	common_text_safe(text, name);
	common_bytes_free(&short_name);
}

static void name_cells(struct dump_table *table, const struct report_run *report_run,
		       const struct analysis_report_row *row)
{
	const struct analysis_function *function = analysis_function(report_run->calls->functions, row->function);

	switch (report_run->options->by) {
	case ANALYSIS_REPORT_FUNCTION:
		analysis_function_text(function, &table->text);
		dump_cell_text(table, DUMP_STYLE_BOLD);
		dump_cell(table, DUMP_STYLE_PLAIN, function->image);
		break;
	case ANALYSIS_REPORT_IMAGE:
		dump_cell(table, DUMP_STYLE_BOLD, *row->image ? row->image : "[no image]");
		break;
	case ANALYSIS_REPORT_PROCESS:
		id_cell(table, row->pid, row->cpu);
		dump_cell(table, DUMP_STYLE_PLAIN, process_name(report_run, row));
		break;
	case ANALYSIS_REPORT_THREAD:
		id_cell(table, row->tid, row->cpu);
		common_text_safe(&table->text, process_name(report_run, row));
		if (*thread_name(report_run, row)) {
			common_text_add(&table->text, ", ");
			common_text_safe(&table->text, thread_name(report_run, row));
		}
		dump_cell_text(table, DUMP_STYLE_PLAIN);
		break;
	case ANALYSIS_REPORT_INLINE:
		inlined_name(report_run, *row->name ? row->name : "[no symbol]", &table->text);
		dump_cell_text(table, DUMP_STYLE_BOLD);
		place_cell(table, row, *row->file ? row->file : row->image, DUMP_STYLE_PLAIN);
		break;
	default:
		place_cell(table, row, row->name, DUMP_STYLE_BOLD);
		break;
	}
}

/* Adds the cells of a row, in the order of choose_columns or choose_amounts. */
static void text_row(struct dump_table *table, const struct report_run *report_run,
		     const struct analysis_report_row *row)
{
	const struct analysis_report_row *sum = report_run->sum;

	if (report_run->has_calls) {
		common_text_count(&table->text, row->calls);
		dump_cell_text(table, DUMP_STYLE_PLAIN);
	}
	if (report_run->has_totals)
		number_cells(table, row->total_instructions, sum->self_instructions);
	number_cells(table, row->self_instructions, sum->self_instructions);
	if (report_run->options->by == ANALYSIS_REPORT_INLINE)
		number_cells(table, row->inlined_instructions, sum->self_instructions);
	if (report_run->timed) {
		time_cells(table, report_run, row->total_time, sum->self_time);
		time_cells(table, report_run, row->self_time, sum->self_time);
	}
	name_cells(table, report_run, row);
}

static int text_output(const struct report_run *report_run)
{
	struct dump_column columns[DUMP_COLUMNS_MAX];
	struct dump_table table = {.columns = columns, .column_count = choose_columns(report_run, columns)};
	const uint64_t limit = report_run->options->limit ? report_run->options->limit : UINT64_MAX;
	uint64_t shown = 0;

	for (size_t i = 0; i < report_run->report->count && shown < limit; i++) {
		if (!is_wanted_row(report_run, &report_run->report->rows[i]))
			continue;
		text_row(&table, report_run, &report_run->report->rows[i]);
		shown++;
	}
	return dump_table_print(&table, report_run->run);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_names(const struct report_run *report_run, const struct analysis_report_row *row)
{
	const struct analysis_function *function = analysis_function(report_run->calls->functions, row->function);
	struct common_json *json = &report_run->run->json_out;

	switch (report_run->options->by) {
	case ANALYSIS_REPORT_FUNCTION:
		analysis_function_json(json, function);
		break;
	case ANALYSIS_REPORT_IMAGE:
		common_json_string(json, "image", *row->image ? row->image : NULL);
		break;
	case ANALYSIS_REPORT_PROCESS:
	case ANALYSIS_REPORT_THREAD:
		if (row->pid != PTL_NO_ID)
			common_json_u64(json, "pid", row->pid);
		if (report_run->options->by == ANALYSIS_REPORT_THREAD && row->tid != PTL_NO_ID)
			common_json_u64(json, "tid", row->tid);
		if (row->tid == PTL_NO_ID && row->cpu != PTL_NO_CPU)
			common_json_u64(json, "cpu", row->cpu);
		common_json_string(json, "name", process_name(report_run, row));
		if (report_run->options->by == ANALYSIS_REPORT_THREAD && *thread_name(report_run, row))
			common_json_string(json, "thread_name", thread_name(report_run, row));
		break;
	case ANALYSIS_REPORT_INLINE:
		common_json_string(json, "function", *row->name ? row->name : NULL);
		common_json_string(json, "image", *row->image ? row->image : NULL);
		common_json_string(json, "file", *row->file ? row->file : NULL);
		if (row->line)
			common_json_u64(json, "line", row->line);
		break;
	default:
		common_json_string(json, "file", row->name);
		if (row->line)
			common_json_u64(json, "line", row->line);
		break;
	}
}

/* Adds the values of the row, with member names for calls or samples. */
static void json_amounts(const struct report_run *report_run, const struct analysis_report_row *row)
{
	struct common_json *json = &report_run->run->json_out;
	const bool samples = report_run->options->samples.enabled;

	if (samples)
		common_json_string(json, "event", report_run->samples.name);
	if (report_run->has_calls)
		common_json_u64(json, "calls", row->calls);
	if (report_run->has_totals)
		common_json_u64(json, samples ? "total_samples" : "total_instructions", row->total_instructions);
	common_json_u64(json, samples ? "self_samples" : "self_instructions", row->self_instructions);
	if (report_run->options->by == ANALYSIS_REPORT_INLINE)
		common_json_u64(json, "inlined_instructions", row->inlined_instructions);
	if (report_run->timed) {
		common_json_u64(json, samples ? "total_period" : "total_time", row->total_time);
		common_json_u64(json, samples ? "self_period" : "self_time", row->self_time);
	}
}

static int json_output(const struct report_run *report_run)
{
	struct common_json *json = &report_run->run->json_out;
	const uint64_t limit = report_run->options->limit ? report_run->options->limit : UINT64_MAX;
	uint64_t shown = 0;

	for (size_t i = 0; i < report_run->report->count && shown < limit; i++) {
		const struct analysis_report_row *row = &report_run->report->rows[i];

		if (!is_wanted_row(report_run, row))
			continue;
		common_json_object(json, NULL);
		json_names(report_run, row);
		json_amounts(report_run, row);
		common_json_object_end(json);
		common_json_line(json);
		shown++;
	}
	return 0;
}

/* ---- shared by both ------------------------------------------------------------------------------ */

static int count_calls(struct analysis_calls *calls, struct analysis_report *report)
{
	const struct analysis_call_observer observer = analysis_report_observer_of(report);

	return analysis_calls_observe(calls, &observer);
}

static int count_samples(struct report_run *report_run, struct analysis_calls *calls, struct analysis_report *report)
{
	struct analysis_call_observer observer = analysis_report_observer;

	observer.context = report;
	return analysis_samples_run(calls, &report_run->options->samples, &observer, &report_run->samples);
}

/* Returns the sort order. Samples are sorted by their periods, if known. */
static unsigned order_of(const struct report_run *report_run)
{
	const char *wanted_order = analysis_report_orders[report_run->options->sort];
	const char *order = !strcmp(wanted_order, "self")    ? "self-time"
			    : !strcmp(wanted_order, "total") ? "total-time"
							     : wanted_order;

	if (!report_run->options->samples.enabled || !report_run->timed)
		return report_run->options->sort;
	for (unsigned i = 0; analysis_report_orders[i]; i++)
		if (!strcmp(analysis_report_orders[i], order))
			return i;
	return report_run->options->sort;
}

static int count_lines(struct analysis_calls *calls, struct analysis_report *report)
{
	const int status = analysis_report_lines(report);

	common_progress_end();
	if (status == 0 && !report->sum.self_instructions)
		analysis_note_no_flow(&calls->input);
	if (status == 0)
		analysis_warn_of_sources(report->sources,
					 report->by == ANALYSIS_REPORT_LINE ? "source lines" : "inlined functions");
	return status;
}

static int show_report(struct dump_run *run, struct analysis_calls *calls, const struct report_options *options)
{
	struct analysis_report report = {.by = options->by, .calls = calls};
	const bool by_line = options->by == ANALYSIS_REPORT_LINE;
	struct report_run report_run = {
		.run = run,
		.options = options,
		.calls = calls,
		.report = &report,
		.sum = &report.sum,
		.has_calls = !by_line && options->by != ANALYSIS_REPORT_INLINE && !options->samples.enabled,
		.has_totals = !by_line,
	};
	int status = options->samples.enabled ? count_samples(&report_run, calls, &report)
		     : report_run.has_calls   ? count_calls(calls, &report)
					      : count_lines(calls, &report);

	report_run.timed = report.timed;
	if (status == 0 && !options->samples.enabled && !analysis_functions_count(calls->functions))
		analysis_samples_hint(calls);
	if (status == 0) {
		analysis_report_sort(&report, order_of(&report_run));
		status = options->shared.json ? json_output(&report_run) : text_output(&report_run);
	}
	analysis_report_free(&report);
	analysis_samples_free(&report_run.samples);
	return status;
}

static int report_run_command(struct dump_run *run)
{
	struct analysis_calls calls;
	bool *wanted = NULL;
	int status = dump_calls_open(&calls, run);

	/* Reports a --image pattern that matches no image. */
	if (status == 0)
		status = dump_run_images(run, calls.timeline, &wanted);
	free(wanted);
	if (status == 0)
		status = show_report(run, &calls, (const struct report_options *)run->options);
	dump_calls_close(&calls, run);
	return status;
}

/* Returns the sort orders for which rows have values. */
static const char *const *orders_of(const struct report_options *options)
{
	static const char *const of_lines[] = {"self", "self-instructions", "name", NULL};
	static const char *const of_inline[] = {"self", "total", "self-instructions", "total-instructions",
						"name", NULL};
	static const char *const of_samples[] = {"self", "total", "name", NULL};

	if (options->samples.enabled)
		return of_samples;
	return options->by == ANALYSIS_REPORT_LINE     ? of_lines
	       : options->by == ANALYSIS_REPORT_INLINE ? of_inline
						       : analysis_report_orders;
}

/* Refuses sort orders for which rows have no values: the rows would be sorted by name without notice. */
static int report_check(const struct dump_options *shared)
{
	const struct report_options *options = (const struct report_options *)shared;
	const char *const *known = orders_of(options);
	const char *order = analysis_report_orders[options->sort];
	char names[128];

	if (options->samples.enabled && (options->by == ANALYSIS_REPORT_LINE || options->by == ANALYSIS_REPORT_INLINE))
		return common_fail(PTL_MISUSE, "--samples does not go with --by %s", by_names[options->by]);
	for (const char *const *name = known; *name; name++)
		if (strcmp(*name, order) == 0)
			return analysis_sample_options_check(&options->samples);
	common_options_join_choices(known, names, sizeof(names));
	if (options->samples.enabled)
		return common_fail(PTL_MISUSE, "--samples has no %s: --sort takes %s", order, names);
	return common_fail(PTL_MISUSE, "--by %s has no %s: --sort takes %s", by_names[options->by], order, names);
}

static const char *const unsharded[] = {"samples", "where", NULL};

static const char examples[] = "ptl-dump report build.ptl | head -20       which functions ran most\n"
			       "ptl-dump report --sort total-time a.ptl\n"
			       "ptl-dump report --by image --process gzip a.ptl\n"
			       "ptl-dump report --by line -n 20 a.ptl      the most frequent source lines\n"
			       "ptl-dump report --by inline a.ptl          functions of the source, inlined or not\n"
			       "ptl-dump report --samples a.ptl            stacks that were sampled, without Intel PT\n"
			       "ptl-dump report --json a.ptl | jq -r 'select(.calls > 1000).function'";

const struct dump_command dump_command_report = {
	.name = "report",
	.summary = "calls, instructions and time of functions, images, lines, threads",
	.details = "Shows how often functions were called and how many instructions and how much time they took, "
		   "by themselves and with all that they called; or the same of images, processes or threads. "
		   "Recursion is counted once. By line and by inlined function it tells what each executed.",
	.examples = examples,
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_IMAGE | DUMP_TAKES_DECODE |
		 DUMP_TAKES_NAMES | DUMP_TAKES_FULL | DUMP_TAKES_CUT | DUMP_TAKES_SHARD | DUMP_TAKES_CALLS,
	.options = own_options,
	.options_size = sizeof(struct report_options),
	.check = report_check,
	.unsharded = unsharded,
	.run = report_run_command,
};
