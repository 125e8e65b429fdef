/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump graph: callers and callees of a function. */
#include <stdlib.h>
#include <string.h>

#include "analysis/call/call_graph.h"
#include "analysis/call/call_selection.h"
#include "analysis/sample/sample.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/print/table.h"
#include "dump/run/calls.h"

#define DEPTH_DEFAULT 4

struct graph_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	uint64_t depth;
	bool depth_given;
	struct analysis_sample_options samples;
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	{"depth", 'd', "N", "Callers and callees up to N calls away (default: 4; 0: all).",
	 COMMON_NUMBER(struct graph_options, depth, 0, UINT64_MAX), COMMON_GIVEN(struct graph_options, depth_given)},
	ANALYSIS_SAMPLE_OPTIONS(struct graph_options, samples),
	{NULL},
};

/* The displayed graph. */
struct shown {
	struct dump_run *run;
	struct analysis_graph graph;
	struct analysis_samples samples; /* if requested */
};

/* ---- text ---------------------------------------------------------------------------------------- */

static void add_node_name(const struct analysis_graph *graph, const struct analysis_graph_node *node,
			  struct ptl_bytes *text)
{
	if (node->depth)
		analysis_function_text(analysis_function(graph->matches.calls->functions, node->function), text);
	else
		analysis_matches_text(&graph->matches, text);
}

static void number_cells(struct dump_table *table, uint64_t value, uint64_t of)
{
	common_text_count(&table->text, value);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
	common_text_share(&table->text, value, of);
	dump_cell_text(table, DUMP_STYLE_DIM);
}

/*
 * Whether a node has calls or costs. Samples of recursive calls count for the outermost call only, so callers of inner
 * calls have none. A PLT stub whose calls were all given to the functions behind the stub has none either.
 */
static bool has_any(const struct shown *shown, const struct analysis_graph_node *node)
{
	return (!node->depth && !shown->samples.count) || node->calls || node->total_instructions ||
	       node->self_instructions || node->total_time;
}

/* Appends nanoseconds or units of a counter. */
static void add_time(const struct shown *shown, uint64_t value, struct ptl_bytes *text)
{
	if (shown->samples.count && !shown->samples.in_time)
		common_text_count(text, value);
	else
		common_text_duration(text, value);
}

static void text_node(struct dump_table *table, const struct shown *shown, const struct analysis_graph_node *node)
{
	const struct analysis_graph *graph = &shown->graph;
	const struct analysis_graph_node *whole = &graph->callees.nodes[0];

	if (!shown->samples.count) {
		common_text_count(&table->text, node->calls);
		dump_cell_text(table, DUMP_STYLE_PLAIN);
	}
	number_cells(table, node->total_instructions, whole->total_instructions);
	common_text_count(&table->text, node->self_instructions);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
	if (graph->timed) {
		add_time(shown, node->total_time, &table->text);
		dump_cell_text(table, DUMP_STYLE_PLAIN);
		common_text_share(&table->text, node->total_time, whole->total_time);
		dump_cell_text(table, DUMP_STYLE_DIM);
	}
	for (uint32_t i = 0; i < node->depth; i++)
		common_text_add(&table->text, "  ");
	add_node_name(graph, node, &table->text);
	dump_cell_text(table, node->depth ? DUMP_STYLE_PLAIN : DUMP_STYLE_BOLD);
	if (node->depth)
		dump_cell(table, DUMP_STYLE_DIM,
			  analysis_function(graph->matches.calls->functions, node->function)->image);
	else
		dump_cell(table, DUMP_STYLE_PLAIN, "");
}

static int text_tree(const struct shown *shown, const struct analysis_graph_tree *tree, const char *title,
		     const uint32_t *order)
{
	static const struct dump_column of_flow[] = {
		{"CALLS", true}, {"TOTAL INSNS", true}, {"%", true}, {"SELF INSNS", true}};
	static const struct dump_column of_samples[] = {{"TOTAL SAMPLES", true}, {"%", true}, {"SELF SAMPLES", true}};
	const bool samples = shown->samples.count;
	struct dump_column columns[DUMP_COLUMNS_MAX];
	size_t count = samples ? 3 : 4;
	struct dump_table table = {.columns = columns};

	memcpy(columns, samples ? of_samples : of_flow, count * sizeof(*columns));
	if (shown->graph.timed) {
		columns[count++] = (struct dump_column){
			samples && !shown->samples.in_time ? "TOTAL COUNT" : "TOTAL TIME", true};
		columns[count++] = (struct dump_column){"%", true};
	}
	columns[count++] = (struct dump_column){title, false};
	columns[count++] = (struct dump_column){"IMAGE", false};
	table.column_count = count;
	for (size_t i = 0; i < tree->count; i++)
		if (has_any(shown, &tree->nodes[order[i]]))
			text_node(&table, shown, &tree->nodes[order[i]]);
	return dump_table_print(&table, shown->run);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_amounts(const struct shown *shown, const struct analysis_graph_node *node)
{
	struct common_json *json = &shown->run->json_out;
	const bool samples = shown->samples.count;

	if (samples)
		common_json_string(json, "event", shown->samples.name);
	else
		common_json_u64(json, "calls", node->calls);
	common_json_u64(json, samples ? "total_samples" : "total_instructions", node->total_instructions);
	common_json_u64(json, samples ? "self_samples" : "self_instructions", node->self_instructions);
	if (shown->graph.timed) {
		common_json_u64(json, samples ? "total_period" : "total_time", node->total_time);
		common_json_u64(json, samples ? "self_period" : "self_time", node->self_time);
	}
}

static int json_tree(const struct shown *shown, const struct analysis_graph_tree *tree, const char *direction,
		     const uint32_t *order)
{
	const struct analysis_graph *graph = &shown->graph;
	struct common_json *json = &shown->run->json_out;
	struct ptl_bytes name = {0};

	for (size_t i = 0; i < tree->count; i++) {
		const struct analysis_graph_node *node = &tree->nodes[order[i]];
		const struct analysis_function *function = analysis_function(graph->matches.calls->functions,
									     node->function);

		if (!has_any(shown, node))
			continue;
		common_json_object(json, NULL);
		common_json_string(json, "type", direction);
		common_json_u64(json, "depth", node->depth);
		if (node->depth) {
			analysis_function_json(json, function);
		} else {
			name.size = 0;
			analysis_matches_text(&graph->matches, &name);
			common_json_string(json, "function", common_text_string(&name));
		}
		json_amounts(shown, node);
		common_json_object_end(json);
		common_json_line(json);
	}
	common_bytes_free(&name);
	return 0;
}

/* ---- shared by both ------------------------------------------------------------------------------ */

static int show_tree(const struct shown *shown, const struct analysis_graph_tree *tree, bool callers)
{
	uint32_t *order;
	int status = analysis_graph_order(&shown->graph, tree, &order);

	if (status < 0)
		return status;
	if (shown->run->options->json) {
		status = json_tree(shown, tree, callers ? "caller" : "callee", order);
	} else {
		if (!callers)
			fputc('\n', shown->run->out);
		status = text_tree(shown, tree, callers ? "CALLED BY" : "CALLS WHAT", order);
	}
	free(order);
	return status;
}

static int add_up(struct shown *shown, struct analysis_calls *calls, const struct analysis_sample_options *samples)
{
	struct analysis_call_observer observer = analysis_graph_observer;
	int status;

	observer.context = &shown->graph;
	if (samples->enabled)
		return analysis_samples_run(calls, samples, &observer, &shown->samples);
	status = analysis_calls_observe(calls, &observer);
	if (status == 0 && !analysis_functions_count(calls->functions))
		analysis_samples_hint(calls);
	return status;
}

static int show_graph(struct dump_run *run, struct analysis_calls *calls, const struct graph_options *options)
{
	struct shown shown = {
		.run = run,
		.graph = {.matches = {.calls = calls, .pattern = run->operand},
			  .max_depth = options->depth_given ? options->depth : DEPTH_DEFAULT},
	};
	struct analysis_graph *graph = &shown.graph;
	int status = add_up(&shown, calls, &options->samples);

	if (status == 0 && analysis_functions_count(calls->functions))
		status = analysis_calls_check(calls, "FUNCTION", graph->matches.pattern);
	if (status == 0 && graph->callers.count) {
		status = show_tree(&shown, &graph->callers, true);
		if (status == 0)
			status = show_tree(&shown, &graph->callees, false);
	}
	analysis_graph_free(graph);
	analysis_samples_free(&shown.samples);
	return status;
}

static int graph_run(struct dump_run *run)
{
	struct analysis_calls calls;
	int status = dump_calls_open(&calls, run);

	if (status == 0)
		status = show_graph(run, &calls, (const struct graph_options *)run->options);
	dump_calls_close(&calls, run);
	return status;
}

static int graph_check(const struct dump_options *shared)
{
	return analysis_sample_options_check(&((const struct graph_options *)shared)->samples);
}

static const char *const unsharded[] = {"samples", "where", NULL};

static const char examples[] =
	"ptl-dump graph deflate a.ptl\n"
	"ptl-dump graph --depth 2 'std::sort*' a.ptl    all functions of such names together\n"
	"ptl-dump graph -d 0 --json main a.ptl          all that main called, for programs to read";

const struct dump_command dump_command_graph = {
	.name = "graph",
	.operand = "FUNCTION",
	.summary = "who called a function, and what it called, weighted",
	.details = "Shows two trees: by whom the function was called, and what it called, each with the number of "
		   "calls and the instructions and time of these. Patterns may have * and ?.",
	.examples = examples,
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_DECODE | DUMP_TAKES_NAMES |
		 DUMP_TAKES_FULL | DUMP_TAKES_CUT | DUMP_TAKES_SHARD | DUMP_TAKES_CALLS,
	.options = own_options,
	.options_size = sizeof(struct graph_options),
	.unsharded = unsharded,
	.check = graph_check,
	.run = graph_run,
};
