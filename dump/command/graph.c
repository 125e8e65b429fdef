/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump graph: who called a function, and what it called. */
#include <stdlib.h>

#include "common/text.h"
#include "dump/call/call_graph.h"
#include "dump/command/commands.h"
#include "dump/print/table.h"

#define DEPTH_DEFAULT 4

struct graph_options {
	struct dump_options shared; /* first: see dump/session/command.h */
	uint64_t depth;
	bool depth_given;
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	{"depth", 'd', "N", "Callers and callees up to N calls away (default: 4; 0: all).",
	 COMMON_NUMBER(struct graph_options, depth, 0, UINT64_MAX), COMMON_GIVEN(struct graph_options, depth_given)},
	{NULL},
};

/* ---- text ---------------------------------------------------------------------------------------- */

static void add_name(const struct dump_graph *graph, const struct dump_graph_node *node, struct ptl_bytes *text)
{
	if (node->depth)
		dump_function_text(dump_function(graph->matches.calls->functions, node->function), text);
	else
		dump_matches_text(&graph->matches, text);
}

static void number_cells(struct dump_table *table, uint64_t value, uint64_t of)
{
	common_text_count(&table->text, value);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
	common_text_share(&table->text, value, of);
	dump_cell_text(table, DUMP_STYLE_DIM);
}

static void text_node(struct dump_table *table, const struct dump_graph *graph, const struct dump_graph_node *node)
{
	const struct dump_graph_node *whole = &graph->callees.nodes[0];

	common_text_count(&table->text, node->calls);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
	number_cells(table, node->total_instructions, whole->total_instructions);
	common_text_count(&table->text, node->self_instructions);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
	if (graph->timed) {
		common_text_duration(&table->text, node->total_time);
		dump_cell_text(table, DUMP_STYLE_PLAIN);
		common_text_share(&table->text, node->total_time, whole->total_time);
		dump_cell_text(table, DUMP_STYLE_DIM);
	}
	for (uint32_t i = 0; i < node->depth; i++)
		common_text_add(&table->text, "  ");
	add_name(graph, node, &table->text);
	dump_cell_text(table, node->depth ? DUMP_STYLE_PLAIN : DUMP_STYLE_BOLD);
	if (node->depth)
		dump_cell(table, DUMP_STYLE_DIM, dump_function(graph->matches.calls->functions, node->function)->image);
	else
		dump_cell(table, DUMP_STYLE_PLAIN, "");
}

static int text_tree(struct dump_session *session, const struct dump_graph *graph, const struct dump_graph_tree *tree,
		     const char *title, const uint32_t *order)
{
	struct dump_column columns[] = {
		{"CALLS", true},      {"TOTAL INSNS", true}, {"%", true},    {"SELF INSNS", true},
		{"TOTAL TIME", true}, {"%", true},           {title, false}, {"IMAGE", false},
	};
	struct dump_table table = {.columns = columns, .column_count = 8};

	if (!graph->timed) {
		columns[4] = columns[6];
		columns[5] = columns[7];
		table.column_count = 6;
	}
	for (size_t i = 0; i < tree->count; i++)
		text_node(&table, graph, &tree->nodes[order[i]]);
	return dump_table_print(&table, session);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static int json_tree(struct dump_session *session, const struct dump_graph *graph, const struct dump_graph_tree *tree,
		     const char *direction, const uint32_t *order)
{
	struct common_json *json = &session->json_out;
	struct ptl_bytes name = {0};

	for (size_t i = 0; i < tree->count; i++) {
		const struct dump_graph_node *node = &tree->nodes[order[i]];
		const struct dump_function *function = dump_function(graph->matches.calls->functions, node->function);

		common_json_object(json, NULL);
		common_json_string(json, "type", direction);
		common_json_u64(json, "depth", node->depth);
		if (node->depth) {
			common_json_string(json, "function", *function->name ? function->name : NULL);
			common_json_string(json, "image", *function->path ? function->path : NULL);
			common_json_hex(json, "address", function->address);
		} else {
			name.size = 0;
			dump_matches_text(&graph->matches, &name);
			common_json_string(json, "function", common_text_string(&name));
		}
		common_json_u64(json, "calls", node->calls);
		common_json_u64(json, "total_instructions", node->total_instructions);
		common_json_u64(json, "self_instructions", node->self_instructions);
		if (graph->timed) {
			common_json_u64(json, "total_time", node->total_time);
			common_json_u64(json, "self_time", node->self_time);
		}
		common_json_object_end(json);
		common_json_line(json);
	}
	common_bytes_free(&name);
	return 0;
}

/* ---- both ---------------------------------------------------------------------------------------- */

static int show_tree(struct dump_session *session, const struct dump_graph *graph, const struct dump_graph_tree *tree,
		     bool callers)
{
	uint32_t *order;
	int status = dump_graph_order(graph, tree, &order);

	if (status < 0)
		return status;
	if (session->options->json) {
		status = json_tree(session, graph, tree, callers ? "caller" : "callee", order);
	} else {
		if (!callers)
			fputc('\n', session->out);
		status = text_tree(session, graph, tree, callers ? "CALLED BY" : "CALLS WHAT", order);
	}
	free(order);
	return status;
}

static int show_graph(struct dump_call_session *calls, const struct graph_options *options)
{
	struct dump_graph graph = {
		.matches = {.calls = calls, .pattern = calls->session->operand},
		.max_depth = options->depth_given ? options->depth : DEPTH_DEFAULT,
	};
	struct dump_call_observer observer = dump_graph_observer;
	int status;

	observer.context = &graph;
	status = dump_call_session_run(calls, &observer);
	if (status == 0 && dump_functions_count(calls->functions))
		status = dump_call_session_check(calls, "FUNCTION", graph.matches.pattern);
	if (status == 0 && graph.callers.count) {
		status = show_tree(calls->session, &graph, &graph.callers, true);
		if (status == 0)
			status = show_tree(calls->session, &graph, &graph.callees, false);
	}
	dump_graph_free(&graph);
	return status;
}

static int run(struct dump_session *session)
{
	struct dump_call_session calls;
	int status = dump_call_session_open(&calls, session);

	if (status == 0)
		status = show_graph(&calls, (const struct graph_options *)session->options);
	dump_call_session_close(&calls);
	return status;
}

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
		 DUMP_TAKES_SHARD,
	.options = own_options,
	.options_size = sizeof(struct graph_options),
	.run = run,
};
