/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump flamegraph: instructions or time by paths of calls, as folded stacks or a picture. */
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/export/export.h"
#include "dump/export/flame/flamegraph.h"
#include "dump/export/path_run.h"

struct flamegraph_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	struct dump_path_options paths;
	bool folded;
	bool reverse;
	bool icicle;
	bool of_first;
};

static const char *const width_words[] = {"second", "first", NULL};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	DUMP_PATH_OPTIONS(struct flamegraph_options),
	{"folded", 0, NULL, "Lines of folded stacks, for other programs.",
	 COMMON_FLAG(struct flamegraph_options, folded)},
	{"reverse", 0, NULL, "Paths from the function that ran to those that called it.",
	 COMMON_FLAG(struct flamegraph_options, reverse)},
	{"icicle", 0, NULL, "The picture upside down: the outermost calls at the top.",
	 COMMON_FLAG(struct flamegraph_options, icicle)},
	{"widths", 0, "WHICH", "Of two traces, the one that widths are of (default: second).",
	 COMMON_CHOICE(struct flamegraph_options, of_first, width_words)},
	{NULL},
};

/* The displayed graph. */
struct graph {
	struct dump_flame_tree tree;
	struct dump_path_run runs[2];
	struct ptl_bytes title;
};

/* Appends the measured quantity: "instructions", "samples of page-faults", "cycles, sampled,". */
static void add_what(const struct graph *graph, struct ptl_bytes *text)
{
	const struct analysis_samples *samples = &graph->runs[0].samples;

	if (!samples->count)
		common_text_add(text, graph->tree.by_time ? "time" : "instructions");
	else if (graph->tree.by_time && !samples->in_time)
		common_text_format(text, "%s, sampled,", samples->name);
	else
		common_text_format(text, "%s of %s", graph->tree.by_time ? "time in samples" : "samples",
				   samples->name);
}

/* Sets the title: "gzip.ptl: instructions by path of calls". */
static void add_title(const struct dump_run *run, const struct flamegraph_options *options, struct graph *graph)
{
	struct ptl_bytes *title = &graph->title;

	common_text_safe(title, run->path);
	if (run->more_count) {
		common_text_add(title, " -> ");
		common_text_safe(title, run->more[0]);
	}
	common_text_add(title, ": ");
	add_what(graph, title);
	common_text_format(title, " by %s", options->reverse ? "function and callers" : "path of calls");
}

static const char *unit_of(const struct graph *graph)
{
	if (graph->runs[0].samples.count)
		return graph->tree.by_time ? analysis_samples_unit(&graph->runs[0].samples) : "samples";
	return graph->tree.by_time ? "ns" : "instructions";
}

static int write_picture(struct dump_run *run, struct graph *graph, struct dump_left_out *left_out)
{
	const struct flamegraph_options *options = (const struct flamegraph_options *)run->options;
	struct dump_flame_look look = {
		.unit = unit_of(graph),
		.icicle = options->icicle,
		.two = run->more_count,
		.of_first = options->of_first,
	};

	add_title(run, options, graph);
	look.title = common_text_string(&graph->title);
	return dump_flame_svg(run, &graph->tree, &look, left_out);
}

static int write_graph(struct dump_run *run, struct graph *graph, struct dump_left_out *left_out)
{
	const struct flamegraph_options *options = (const struct flamegraph_options *)run->options;
	struct dump_flame_tree *tree = &graph->tree;
	int status = dump_flame_tree_sort(tree);

	dump_left_out_add(left_out, tree->cut_depth, "path too deep to be reversed ends early",
			  "paths too deep to be reversed end early");
	dump_left_out_add(left_out, tree->cut_nodes, "path of too many ends early", "paths of too many end early");
	if (status == 0 && options->folded)
		status = dump_flame_folded(run, tree, run->more_count);
	else if (status == 0)
		status = write_picture(run, graph, left_out);
	dump_left_out_report(left_out);
	return status;
}

/* Refuses to compare samples of different events. */
static int check_names(const struct graph *graph, size_t count)
{
	const struct analysis_samples *samples[] = {&graph->runs[0].samples, &graph->runs[1].samples};

	if (count < 2 || !samples[0]->count || !samples[1]->count || !strcmp(samples[0]->name, samples[1]->name))
		return 0;
	return common_fail(PTL_MISUSE, "one trace has samples of %s, the other one of %s: --samples=EVENT chooses",
			   samples[0]->name, samples[1]->name);
}

/* Sums up one trace, or two traces to compare. */
static int make_graph(struct dump_run *run, struct graph *graph, size_t count, struct dump_left_out *left_out)
{
	const struct dump_path_options *paths = &((const struct flamegraph_options *)run->options)->paths;
	struct dump_path_run *runs = graph->runs;
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++)
		status = dump_path_run_open(&runs[i], run, i ? run->more[i - 1] : NULL);
	for (size_t i = 0; status == 0 && i < count; i++) {
		status = dump_path_run_decode(&runs[i], paths);
		dump_path_run_left_out(&runs[i], left_out);
	}
	if (status == 0)
		status = check_names(graph, count);
	if (status == 0)
		status = dump_path_run_by_time(runs, count, paths, &graph->tree.by_time);
	for (size_t i = 0; status == 0 && i < count; i++)
		status = dump_flame_tree_add(&graph->tree, &runs[i].paths, i);
	return status;
}

/* Shows one trace, or compares two. */
static int flamegraph_run(struct dump_run *run)
{
	const struct flamegraph_options *options = (const struct flamegraph_options *)run->options;
	const size_t count = 1 + run->more_count;
	struct graph graph = {.tree = {.reverse = options->reverse}};
	struct dump_left_out left_out = {0};
	int status = 0;

	if (count > 2)
		return common_fail(PTL_MISUSE, "two traces can be compared, not %zu", count);
	if (count < 2 && options->of_first)
		return common_fail(PTL_MISUSE, "--widths needs a second trace, with which the first is compared");
	status = options->folded ? 0 : dump_export_refuse_terminal(run);
	if (status == 0)
		status = make_graph(run, &graph, count, &left_out);
	if (status == 0)
		status = write_graph(run, &graph, &left_out);
	for (size_t i = 0; i < count; i++)
		dump_path_run_close(&graph.runs[i]);
	dump_left_out_free(&left_out);
	dump_flame_tree_free(&graph.tree);
	common_bytes_free(&graph.title);
	return status == 0 && graph.runs[1].damaged ? COMMON_EXIT_INPUT : status;
}

static int flamegraph_check(const struct dump_options *shared)
{
	return dump_path_options_check(&((const struct flamegraph_options *)shared)->paths);
}

static const char examples[] =
	"ptl-dump flamegraph -o a.svg a.ptl             a picture, for a browser\n"
	"ptl-dump flamegraph --by time --process gzip -o a.svg build.ptl\n"
	"ptl-dump flamegraph -o change.svg old.ptl new.ptl    red: more than before\n"
	"ptl-dump flamegraph --widths first -o gone.svg old.ptl new.ptl    with what is gone\n"
	"ptl-dump flamegraph --samples -o a.svg a.ptl    stacks that were sampled, without Intel PT\n"
	"ptl-dump flamegraph --folded a.ptl | flamegraph.pl > a.svg";

const struct dump_command dump_command_flamegraph = {
	.name = "flamegraph",
	.many = true,
	.summary = "where instructions or time went, by paths of calls",
	.details = "Writes a flame graph: an SVG picture in which each path of calls is as wide as what was executed "
		   "there, and which a browser zooms, searches and reverses. A second FILE is compared with the first.",
	.examples = examples,
	.takes = DUMP_EXPORT_TAKES | DUMP_TAKES_CALLS,
	.options = own_options,
	.options_size = sizeof(struct flamegraph_options),
	.check = flamegraph_check,
	.run = flamegraph_run,
};
