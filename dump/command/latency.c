/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump latency: durations of a function's calls. */
#include <inttypes.h>

#include "analysis/call/call_latency.h"
#include "analysis/call/call_selection.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/print/table.h"
#include "dump/run/calls.h"

#define SLOWEST_DEFAULT 10
#define SLOWEST_MAX 1000000
#define BAR_WIDTH 50

struct latency_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	bool instructions;
	bool slowest_given;
	uint64_t slowest;
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	{"instructions", 0, NULL, "Measures instructions, not time (so it is where the trace has no times).",
	 COMMON_FLAG(struct latency_options, instructions)},
	{"slowest", 0, "N", "Lists the N slowest calls (default: 10).",
	 COMMON_NUMBER(struct latency_options, slowest, 0, SLOWEST_MAX),
	 COMMON_GIVEN(struct latency_options, slowest_given)},
	{NULL},
};

static const struct {
	const char *name, *title;
	double share;
} percentiles[] = {
	{"p50", "50 %", 0.5},  {"p90", "90 %", 0.9},       {"p95", "95 %", 0.95},
	{"p99", "99 %", 0.99}, {"p99.9", "99.9 %", 0.999},
};
#define PERCENTILES (sizeof(percentiles) / sizeof(percentiles[0]))

struct latency_run {
	struct dump_run *run;
	const struct analysis_calls *calls;
	const struct analysis_latency *latency;
};

/* The uses of time, in display order. */
static const char *const part_titles[] = {"RUNNING", "KERNEL", "OFF CPU", "GAP", "OTHER STACKS"};
static const char *const part_names[] = {"running", "kernel", "off_cpu", "gap", "other_stacks"};
#define PARTS 5

static void list_parts(const struct analysis_latency_parts *parts, uint64_t list[PARTS])
{
	list[0] = parts->running;
	list[1] = parts->absence.kernel;
	list[2] = parts->absence.off;
	list[3] = parts->absence.gap;
	list[4] = parts->other;
}

/* ---- text ---------------------------------------------------------------------------------------- */

static void add_value(const struct latency_run *latency_run, uint64_t value, struct ptl_bytes *text)
{
	if (latency_run->latency->by_instructions)
		common_text_count(text, value);
	else
		common_text_duration(text, value);
}

static void value_cell(const struct latency_run *latency_run, struct dump_table *table, uint64_t value)
{
	add_value(latency_run, value, &table->text);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
}

static int text_summary(const struct latency_run *latency_run)
{
	const struct analysis_spread *spread = &latency_run->latency->spread;
	struct dump_column columns[4 + PERCENTILES] = {{"CALLS", true}, {"LEAST", true}, {"MEAN", true}};
	struct dump_table table = {.columns = columns, .column_count = 4 + PERCENTILES};
	struct ptl_bytes name = {0};

	analysis_matches_text(&latency_run->latency->matches, &name);
	fprintf(latency_run->run->out, "%s%s%s, in %s\n\n", dump_bold(latency_run->run), common_text_string(&name),
		dump_plain(latency_run->run), latency_run->latency->by_instructions ? "instructions" : "time");
	common_bytes_free(&name);
	for (size_t i = 0; i < PERCENTILES; i++)
		columns[3 + i] = (struct dump_column){percentiles[i].title, true};
	columns[3 + PERCENTILES] = (struct dump_column){"MOST", true};
	common_text_count(&table.text, spread->count);
	dump_cell_text(&table, DUMP_STYLE_BOLD);
	value_cell(latency_run, &table, spread->least);
	value_cell(latency_run, &table, spread->sum / spread->count);
	for (size_t i = 0; i < PERCENTILES; i++)
		value_cell(latency_run, &table, analysis_spread_percentile(spread, percentiles[i].share));
	value_cell(latency_run, &table, spread->most);
	return dump_table_print(&table, latency_run->run);
}

/* Computes bounds for a row of the histogram: 0, 1, 2 and 3, 4 to 7, and so on. */
static void bounds_of(unsigned row, uint64_t *first, uint64_t *last)
{
	*first = row ? 1ull << (row - 1) : 0;
	*last = row ? *first + (*first - 1) : 0;
}

static int text_histogram(const struct latency_run *latency_run)
{
	static const struct dump_column columns[] = {{"FROM", true}, {"CALLS", true}, {"%", true}, {"", false}};
	static const char bar[BAR_WIDTH + 1] = "##################################################";
	const struct analysis_spread *spread = &latency_run->latency->spread;
	struct dump_table table = {.columns = columns, .column_count = 4};
	uint64_t first, last, largest = 1;

	for (unsigned row = 0; row <= 64; row++) {
		uint64_t count;

		bounds_of(row, &first, &last);
		count = analysis_spread_between(spread, first, last);
		largest = count > largest ? count : largest;
	}
	for (unsigned row = 0; row <= 64; row++) {
		uint64_t count;
		int width;

		bounds_of(row, &first, &last);
		if (last < spread->least || first > spread->most)
			continue;
		count = analysis_spread_between(spread, first, last);
		width = (int)((double)count / (double)largest * BAR_WIDTH + 0.5);
		value_cell(latency_run, &table, first);
		common_text_count(&table.text, count);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		common_text_share(&table.text, count, spread->count);
		dump_cell_text(&table, DUMP_STYLE_DIM);
		dump_cell_format(&table, DUMP_STYLE_PLAIN, "%.*s", count && !width ? 1 : width, bar);
	}
	fputc('\n', latency_run->run->out);
	return dump_table_print(&table, latency_run->run);
}

static int text_parts(const struct latency_run *latency_run)
{
	static const struct dump_column columns[] = {{"TIME", true}, {"%", true}, {"SPENT", false}};
	struct dump_table table = {.columns = columns, .column_count = 3};
	uint64_t parts[PARTS], sum = 0;

	if (latency_run->latency->by_instructions)
		return 0;
	list_parts(&latency_run->latency->parts, parts);
	for (size_t i = 0; i < PARTS; i++)
		sum += parts[i];
	for (size_t i = 0; i < PARTS; i++) {
		if (!parts[i])
			continue;
		common_text_duration(&table.text, parts[i]);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		common_text_share(&table.text, parts[i], sum);
		dump_cell_text(&table, DUMP_STYLE_DIM);
		dump_cell(&table, DUMP_STYLE_PLAIN, part_titles[i]);
	}
	fputc('\n', latency_run->run->out);
	return dump_table_print(&table, latency_run->run);
}

static int text_callers(const struct latency_run *latency_run)
{
	static const struct dump_column columns[] = {{"CALLS", true}, {"MEAN", true}, {"50 %", true},
						     {"99 %", true},  {"MOST", true}, {"CALLED BY", false},
						     {"IMAGE", false}};
	struct dump_table table = {.columns = columns, .column_count = 7};

	for (size_t i = 0; i < latency_run->latency->caller_count; i++) {
		const struct analysis_latency_caller *caller = &latency_run->latency->callers[i];
		const struct analysis_function *function = analysis_function(latency_run->calls->functions,
									     caller->function);

		common_text_count(&table.text, caller->spread.count);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		value_cell(latency_run, &table, caller->spread.sum / caller->spread.count);
		value_cell(latency_run, &table, analysis_spread_percentile(&caller->spread, 0.5));
		value_cell(latency_run, &table, analysis_spread_percentile(&caller->spread, 0.99));
		value_cell(latency_run, &table, caller->spread.most);
		analysis_function_text(function, &table.text);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		dump_cell(&table, DUMP_STYLE_DIM, function->image);
	}
	fputc('\n', latency_run->run->out);
	return dump_table_print(&table, latency_run->run);
}

static int text_slowest(const struct latency_run *latency_run)
{
	const uint64_t start = ptl_trace_machine(latency_run->run->trace)->start_time;
	struct dump_column columns[4 + PARTS + 1] = {
		{"AT ms", true}, {"PID", true}, {"TID", true}, {"INSNS", true}, {"TIME", true}};
	struct dump_table table = {.columns = columns, .column_count = 5};

	for (size_t i = 0; i < PARTS; i++)
		columns[table.column_count++] = (struct dump_column){part_titles[i], true};
	for (size_t i = 0; i < latency_run->latency->slowest_count; i++) {
		const struct analysis_latency_call *call = &latency_run->latency->slowest[i];
		uint64_t parts[PARTS];

		common_text_time(&table.text, call->start, start);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		dump_cell_format(&table, DUMP_STYLE_PLAIN, "%" PRId32, (int32_t)call->pid);
		dump_cell_format(&table, DUMP_STYLE_PLAIN, "%" PRId32, (int32_t)call->tid);
		common_text_count(&table.text, call->instructions);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		common_text_duration(&table.text, call->wall);
		dump_cell_text(&table, DUMP_STYLE_BOLD);
		list_parts(&call->parts, parts);
		for (size_t k = 0; k < PARTS; k++) {
			if (parts[k])
				common_text_duration(&table.text, parts[k]);
			dump_cell_text(&table, DUMP_STYLE_PLAIN);
		}
	}
	fputc('\n', latency_run->run->out);
	return dump_table_print(&table, latency_run->run);
}

static int text_output(const struct latency_run *latency_run)
{
	int (*const sections[])(const struct latency_run *latency_run) = {text_summary, text_histogram, text_parts,
									  text_callers, text_slowest};
	int status = 0;

	for (size_t i = 0; status == 0 && i < sizeof(sections) / sizeof(sections[0]); i++)
		status = sections[i](latency_run);
	return status;
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_spread(struct common_json *json, const struct analysis_spread *spread)
{
	common_json_u64(json, "calls", spread->count);
	common_json_u64(json, "sum", spread->sum);
	common_json_u64(json, "least", spread->least);
	for (size_t i = 0; i < PERCENTILES; i++)
		common_json_u64(json, percentiles[i].name, analysis_spread_percentile(spread, percentiles[i].share));
	common_json_u64(json, "most", spread->most);
}

static void json_parts(struct common_json *json, const struct analysis_latency_parts *parts)
{
	uint64_t list[PARTS];

	list_parts(parts, list);
	common_json_object(json, "spent");
	for (size_t i = 0; i < PARTS; i++)
		common_json_u64(json, part_names[i], list[i]);
	common_json_object_end(json);
}

static void json_histogram(struct common_json *json, const struct analysis_spread *spread)
{
	common_json_array(json, "histogram");
	for (unsigned row = 0; row <= 64; row++) {
		uint64_t first, last;

		bounds_of(row, &first, &last);
		if (last < spread->least || first > spread->most)
			continue;
		common_json_object(json, NULL);
		common_json_u64(json, "from", first);
		common_json_u64(json, "calls", analysis_spread_between(spread, first, last));
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

static void json_call(const struct latency_run *latency_run, const struct analysis_latency_call *call)
{
	struct common_json *json = &latency_run->run->json_out;

	common_json_object(json, NULL);
	dump_json_time(latency_run->run, "time", call->start);
	if (call->pid != PTL_NO_ID)
		common_json_u64(json, "pid", call->pid);
	if (call->tid != PTL_NO_ID)
		common_json_u64(json, "tid", call->tid);
	common_json_u64(json, "duration", call->wall);
	common_json_u64(json, "instructions", call->instructions);
	json_parts(json, &call->parts);
	common_json_object_end(json);
}

static int json_output(const struct latency_run *latency_run)
{
	struct common_json *json = &latency_run->run->json_out;
	const struct analysis_latency *latency = latency_run->latency;
	struct ptl_bytes name = {0};

	analysis_matches_text(&latency->matches, &name);
	common_json_object(json, NULL);
	common_json_string(json, "function", common_text_string(&name));
	common_json_string(json, "unit", latency->by_instructions ? "instructions" : "nanoseconds");
	json_spread(json, &latency->spread);
	common_json_u64(json, "not_measured", latency->unfinished + latency->untimed);
	if (!latency->by_instructions)
		json_parts(json, &latency->parts);
	json_histogram(json, &latency->spread);
	common_json_array(json, "callers");
	for (size_t i = 0; i < latency->caller_count; i++) {
		common_json_object(json, NULL);
		analysis_function_json(json,
				       analysis_function(latency_run->calls->functions, latency->callers[i].function));
		json_spread(json, &latency->callers[i].spread);
		common_json_object_end(json);
	}
	common_json_array_end(json);
	common_json_array(json, "slowest");
	for (size_t i = 0; i < latency->slowest_count; i++)
		json_call(latency_run, &latency->slowest[i]);
	common_json_array_end(json);
	common_json_object_end(json);
	common_json_line(json);
	common_bytes_free(&name);
	return 0;
}

/* ---- shared by both ------------------------------------------------------------------------------ */

static void note_missing(const struct latency_run *latency_run)
{
	const struct analysis_latency *latency = latency_run->latency;

	if (latency->unfinished) {
		common_message_note(
			"%" PRIu64
			" " COMMON_PLURAL("call", "calls") " began or ended outside of the flow, and " COMMON_PLURAL(
				"is", "are") " not measured",
			latency->unfinished);
		common_message_hint("ptl-dump stats shows where flow is missing");
	}
	if (latency->untimed) {
		common_message_note("%" PRIu64
				    " " COMMON_PLURAL("call has", "calls have") " no time, and " COMMON_PLURAL(
					    "is", "are") " not measured",
				    latency->untimed);
		common_message_hint("--instructions");
	}
}

static int show_latency(struct dump_run *run, struct analysis_calls *calls, const struct latency_options *options)
{
	struct analysis_latency latency = {
		.matches = {.calls = calls, .pattern = run->operand},
		.by_instructions = options->instructions,
		.slowest_max = options->slowest_given ? options->slowest : SLOWEST_DEFAULT,
	};
	const struct latency_run latency_run = {run, calls, &latency};
	struct analysis_call_observer observer = analysis_latency_observer;
	int status;

	observer.context = &latency;
	status = analysis_calls_observe(calls, &observer);
	if (status == 0 && analysis_functions_count(calls->functions))
		status = analysis_calls_check(calls, "FUNCTION", latency.matches.pattern);
	if (status == 0) {
		note_missing(&latency_run);
		analysis_latency_finish(&latency);
		if (latency.spread.count)
			status = options->shared.json ? json_output(&latency_run) : text_output(&latency_run);
	}
	analysis_latency_free(&latency);
	return status;
}

static int latency_run_command(struct dump_run *run)
{
	struct analysis_calls calls;
	int status = dump_calls_open(&calls, run);

	if (status == 0)
		status = show_latency(run, &calls, (const struct latency_options *)run->options);
	dump_calls_close(&calls, run);
	return status;
}

static const char examples[] =
	"ptl-dump latency handle_request server.ptl\n"
	"ptl-dump latency --slowest 3 --last 10s 'Parser::*' a.ptl    all functions of such names together\n"
	"ptl-dump latency --instructions compress a.ptl\n"
	"ptl-dump latency --json main a.ptl | jq .slowest[0]";

const struct dump_command dump_command_latency = {
	.name = "latency",
	.operand = "FUNCTION",
	.summary = "how long the calls of a function took, and the slowest of them",
	.details = "Shows how long the calls of a function took: percentiles, a histogram, by caller, and the slowest "
		   "with their times; and what the time went to: running, the kernel, switched out, gaps.",
	.examples = examples,
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_DECODE | DUMP_TAKES_NAMES |
		 DUMP_TAKES_FULL | DUMP_TAKES_CUT | DUMP_TAKES_SHARD | DUMP_TAKES_CALLS,
	.options = own_options,
	.options_size = sizeof(struct latency_options),
	.run = latency_run_command,
};
